import type { Mechanism } from 'kafkajs'
import plain from 'kafkajs/src/broker/saslAuthenticator/plain.js'
import scram256 from 'kafkajs/src/broker/saslAuthenticator/scram256.js'
import scram512 from 'kafkajs/src/broker/saslAuthenticator/scram512.js'
import sasl from 'kafkajs/src/protocol/sasl/oauthBearer/index.js'
import { CodedError } from '../text/error-codes.ts'
import { printable } from '../text/sanitize.ts'

/**
 * @internal No access token, or none that the broker accepts. The type, Kafka's name for an interrupted log-in, makes kafkajs retry on
 * another connection.
 */
export class LogInError extends CodedError {
  readonly retriable = true
  readonly type = 'ILLEGAL_SASL_STATE'
}

function failLogIn(cause: Error): never {
  throw new LogInError('LOG_IN_FAILED', cause.message, { cause })
}

export interface BearerLogIn {
  readonly mechanism: 'oauthbearer'
  /** Resolves to a valid token other than the refused one. */
  readonly accessToken: (refused?: string) => Promise<string>
  readonly extensions: Readonly<Record<string, string>>
}

/** kafkajs puts the length before a response. */
const LENGTH_BYTES = 4

/**
 * Logs in with an access token (RFC 7628). The mechanism of kafkajs 2.2.4 ignores the broker's refusal, which is no protocol
 * error, and continues until the connection is closed without a reason (`broker/saslAuthenticator/oauthBearer.js`).
 */
export function bearerLogIn({ accessToken, extensions }: BearerLogIn): Mechanism {
  let refused: string | undefined
  return {
    mechanism: 'oauthbearer',
    authenticationProvider: ({ saslAuthenticate }) => ({
      authenticate: async () => {
        const token = await accessToken(refused).catch(failLogIn)
        const refusal = await saslAuthenticate({
          request: await sasl.request({}, { value: token, extensions }),
          response: { decode: (bytes) => bytes, parse: (bytes) => bytes.subarray(LENGTH_BYTES).toString() },
        }).catch(refusalIn)
        if (!refusal) return
        refused = token
        const message = `SASL OAUTHBEARER authentication failed: the broker says ${printable(refusal)}`
        throw new LogInError('TOKEN_NOT_ACCEPTED', message)
      },
    }),
  }
}

function refusalIn(error: Error & { readonly type?: unknown }): string {
  if (error.type === 'SASL_AUTHENTICATION_FAILED') return error.message
  throw error
}

const PROVIDERS = { plain, 'scram-sha-256': scram256, 'scram-sha-512': scram512 }

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
        const current = await password().catch(failLogIn)
        await PROVIDERS[mechanism]({ username, password: current })(args).authenticate()
      },
    }),
  }
}
