import { useState } from 'preact/hooks'
import { token } from '../api.ts'
import { Field, filledIn, Problem, Title } from '../parts.tsx'

/** Asks for a token and says why. The token stays in this tab. */
export function TokenForm({ why, onToken }: { why: string; onToken: () => void }) {
  const [fault, setFault] = useState<string | null>(null)
  const submit = (event: SubmitEvent) => {
    const pasted = (filledIn(event).token ?? '').replace(/^bearer\s+/i, '')
    if (!/^[\w.-]+$/.test(pasted)) return setFault('This is not a token. Paste all of it, without spaces.')
    token.set(pasted)
    onToken()
  }
  return (
    <section class="card">
      <Title name="Enter a token" />
      <p role="alert">{why}</p>
      <p class="text-light">
        Paste a token from your identity provider that grants access to the administrative views. It stays in
        this tab until you close it, and is sent only to this service.
      </p>
      <form onSubmit={submit}>
        <Field label="Token" name="token" type="password" />
        <Problem problem={fault} />
        <button type="submit">Continue</button>
      </form>
    </section>
  )
}
