import type { AuthenticationProviderArgs, Authenticator, Mechanism } from 'kafkajs'
import plain from 'kafkajs/src/broker/saslAuthenticator/plain.js'
import scram256 from 'kafkajs/src/broker/saslAuthenticator/scram256.js'
import scram512 from 'kafkajs/src/broker/saslAuthenticator/scram512.js'
import { LogInError } from './bearer-log-in.ts'

type Provider = (login: {
  readonly username: string
  readonly password: string
}) => (args: AuthenticationProviderArgs) => Authenticator

const PROVIDERS = { plain, 'scram-sha-256': scram256, 'scram-sha-512': scram512 } satisfies Record<
  string,
  Provider
>

export interface PasswordLogIn {
  readonly mechanism: keyof typeof PROVIDERS
  readonly username: string
  /** Called for each connection. */
  readonly password: () => Promise<string>
}

/** Logs in with the mechanisms of kafkajs, which read a password only once. */
export function passwordLogIn({ mechanism, username, password }: PasswordLogIn): Mechanism {
  return {
    mechanism,
    authenticationProvider: (args) => ({
      authenticate: async () => {
        const current = await password().catch((cause) => {
          throw new LogInError(cause.message, { cause })
        })
        await PROVIDERS[mechanism]({ username, password: current })(args).authenticate()
      },
    }),
  }
}
