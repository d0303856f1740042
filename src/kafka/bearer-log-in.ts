import type { Mechanism } from 'kafkajs'
import { printable } from '../core/text/sanitize.ts'
import { AccessTokenError, type AccessTokens } from './access-token.ts'

const SEPARATOR = '\u0001'
/** Before each message, as kafkajs passes them. */
const LENGTH_BYTES = 4

/**
 * Logs in by an access token (RFC 7628). The mechanism of kafkajs 2.2.4 passes over the broker's refusal, which is no error of
 * the protocol, and goes on until the connection is closed without a reason (`broker/saslAuthenticator/oauthBearer.js`).
 */
export function bearerLogIn(tokens: AccessTokens, extensions: Readonly<Record<string, string>>): Mechanism {
  return {
    mechanism: 'oauthbearer',
    authenticationProvider: ({ saslAuthenticate }) => ({
      authenticate: async () => {
        const token = await tokens.get()
        const refusal = await saslAuthenticate({
          request: { encode: () => withLength(firstMessage(token, extensions)) },
          response: { decode: (bytes) => bytes, parse: (bytes) => bytes.subarray(LENGTH_BYTES).toString() },
        }).catch(refusalIn)
        if (!refusal) return
        tokens.forget(token)
        throw new AccessTokenError(
          `SASL OAUTHBEARER authentication failed: the broker says ${printable(refusal)}`,
        )
      },
    }),
  }
}

/** Throws whatever else went wrong. */
function refusalIn(error: Error & { readonly type?: unknown }): string {
  if (error.type === 'SASL_AUTHENTICATION_FAILED') return error.message
  throw error
}

function firstMessage(token: string, extensions: Readonly<Record<string, string>>): string {
  const pairs = [
    `auth=Bearer ${token}`,
    ...Object.entries(extensions).map(([name, value]) => `${name}=${value}`),
  ]
  return ['n,,', ...pairs, '', ''].join(SEPARATOR)
}

function withLength(text: string): Buffer {
  const length = Buffer.alloc(LENGTH_BYTES)
  length.writeInt32BE(Buffer.byteLength(text))
  return Buffer.concat([length, Buffer.from(text)])
}
