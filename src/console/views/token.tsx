import { useState } from 'preact/hooks'
import { token } from '../api.ts'
import { filledIn, Problem, SecretField, Title } from '../parts.tsx'

/** Asks for a token, and says why one is needed. It stays in this tab. */
export function TokenForm({ why, onToken }: { why: string; onToken: () => void }) {
  const [fault, setFault] = useState<string | null>(null)
  const submit = (event: SubmitEvent) => {
    const pasted = (filledIn(event).token ?? '').replace(/^bearer\s+/i, '')
    if (!/^[\w.-]+$/.test(pasted)) return setFault('This is no token: paste it whole, without spaces.')
    token.set(pasted)
    onToken()
  }
  return (
    <section class="card narrow">
      <Title name="A token, please" />
      <p role="alert">{why}</p>
      <p class="faint">
        Paste a token of your identity provider that may use the administrative views. It is kept in this tab
        until it is closed, and sent to this service alone.
      </p>
      <form onSubmit={submit} class="stack">
        <SecretField label="Token" name="token" />
        <Problem of={fault} />
        <button type="submit" class="primary">
          Use it
        </button>
      </form>
    </section>
  )
}
