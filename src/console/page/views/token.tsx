import { useState } from 'preact/hooks'
import type { SignIn } from '../../../service/model/sign-in.ts'
import { token } from '../api.ts'
import { Field, filledIn, Problem, Title } from '../parts.tsx'

interface SignInProps {
  readonly why: string
  /** Null: the service knows no client; a token is pasted. */
  readonly settings: SignIn | null
  readonly onToken: () => void
}

/** Leads to the identity provider, or asks for a token, with the reason. The token stays in this tab. */
export function SignInForm({ why, settings, onToken }: SignInProps) {
  const [fault, setFault] = useState<string | null>(null)
  const submit = (event: SubmitEvent) => {
    const pasted = (filledIn(event).token ?? '').replace(/^bearer\s+/i, '')
    if (settings !== null)
      return void import('../sign-in.ts')
        .then(({ signIn }) => signIn(settings))
        .catch(({ message }: Error) => setFault(`The identity provider did not answer: ${message}`))
    if (!/^[\w.-]+$/.test(pasted)) return setFault('This is not a token. Paste all of it, without spaces.')
    token.set(pasted)
    onToken()
  }
  return (
    <section class="card">
      <Title name={settings === null ? 'Enter a token' : 'Sign in'} />
      <p role="alert">{why}</p>
      <p class="text-light">
        {settings === null
          ? 'Paste a token from your identity provider that grants access to the administrative views.'
          : 'Your identity provider gives this page a token.'}{' '}
        It stays in this tab until you close it, and is sent only to this service.
      </p>
      <form onSubmit={submit}>
        {settings === null && <Field label="Token" name="token" type="password" />}
        <Problem problem={fault} />
        <button type="submit">{settings === null ? 'Continue' : 'Sign in'}</button>
      </form>
    </section>
  )
}
