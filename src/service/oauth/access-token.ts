import {
  allowInsecureRequests,
  clientCredentialsGrantRequest,
  customFetch,
  processClientCredentialsResponse,
} from 'oauth4webapi'
import { type Dispatcher, EnvHttpProxyAgent, type RequestInit, fetch as undiciFetch } from 'undici'
import type { TokenClient } from '../config/config.ts'
import { CodedError } from '../text/error-codes.ts'
import { printable } from '../text/sanitize.ts'
import { cached, resolveSecret } from './file-secret.ts'

const TIMEOUT_MS = 5_000
/** Used if a token endpoint does not state how long a token is valid. */
const UNKNOWN_VALIDITY_S = 60
/** Time before the end of a token's validity at which the next one is requested. */
const RENEWAL_MS = 30_000
const BODY_BYTES_MAX = 64 * 1024
const QUOTED_LENGTH_MAX = 500
/** Code of an error of the endpoint, other than a refusal. */
const ENDPOINT = 'TOKEN_ENDPOINT'

/**
 * Requests access tokens with the client credentials grant (RFC 6749, section 4.4). A token is used until 30 s before it expires,
 * or for half of its validity if that is less than a minute. Rejects with a message for the operator, which never contains the
 * secret.
 *
 * @param prefix of the client's configuration variables, named in messages
 */
export function createAccessToken(client: TokenClient, prefix: string, monotonicMs: () => number) {
  // A connection for each token: they are hours apart.
  const dispatcher = new EnvHttpProxyAgent({ pipelining: 0 })
  return cached(async () => {
    const askedAtMs = monotonicMs()
    const secret = await resolveSecret(client.clientSecret, `${prefix}CLIENT_SECRET_FILE`)
    const { token, validMs } = await requestToken(client, secret, prefix, dispatcher)
    return { secret: token, usedUntilMs: askedAtMs + Math.max(validMs - RENEWAL_MS, validMs / 2) }
  }, monotonicMs)
}

async function requestToken(
  { url, clientId, scope }: TokenClient,
  secret: string,
  prefix: string,
  dispatcher: Dispatcher,
): Promise<{ readonly token: string; readonly validMs: number }> {
  const server = { issuer: url, token_endpoint: url }
  const authorization = basicAuthorization(clientId, secret)
  const response = await clientCredentialsGrantRequest(
    server,
    { client_id: clientId },
    (_server, _client, _body, headers) => headers.set('authorization', authorization),
    scope === null ? {} : { scope },
    {
      [allowInsecureRequests]: true,
      [customFetch]: (target: string, init: RequestInit) => fetchBounded(target, { ...init, dispatcher }),
      signal: AbortSignal.timeout(TIMEOUT_MS),
    },
  ).catch((cause) => {
    const message = `the token endpoint of ${prefix}TOKEN_URL cannot be used (${describeCause(cause)})`
    throw new CodedError(ENDPOINT, message, { cause })
  })
  if (response.status !== 200) {
    const refusal = await readRefusal(response)
    if (refusal === null)
      throw new CodedError(
        ENDPOINT,
        `the token endpoint of ${prefix}TOKEN_URL answers with status ${response.status}`,
      )
    const words = withoutSecret(refusal, authorization, secret).slice(0, QUOTED_LENGTH_MAX)
    const message = `the token endpoint refuses a token (status ${response.status}, ${printable(words)})`
    throw new CodedError('TOKEN_REFUSED', message)
  }
  try {
    const found = await processClientCredentialsResponse(server, { client_id: clientId }, response)
    // Other characters could end the message field that carries the token (RFC 6749, appendix A.12).
    if (!/^[ -~]+$/.test(found.access_token)) throw new Error('"access_token" has control characters')
    return { token: found.access_token, validMs: (found.expires_in ?? UNKNOWN_VALIDITY_S) * 1_000 }
  } catch (cause) {
    const message = `the token endpoint of ${prefix}TOKEN_URL answers with no access token (${describeCause(cause)})`
    throw new CodedError(ENDPOINT, message, { cause })
  }
}

/** Fetches an answer; its body fails beyond 64 kB, since parsing more would block the process. */
async function fetchBounded(url: string, init: RequestInit): Promise<Response> {
  const { body, status, headers } = await undiciFetch(url, init)
  let byteCount = 0
  const bound = new TransformStream<Uint8Array, Uint8Array>({
    transform(chunk, controller) {
      byteCount += chunk.length
      if (byteCount > BODY_BYTES_MAX) throw new Error(`more than ${BODY_BYTES_MAX / 1024} kB`)
      controller.enqueue(chunk)
    },
  })
  return new Response(body?.pipeThrough(bound) ?? null, { status, headers })
}

/** The text of a refusal by RFC 6749, section 5.2; null for any other response. */
async function readRefusal(response: Response): Promise<string | null> {
  if (![400, 401, 403].includes(response.status)) return null
  const body = await response.json().catch(() => null)
  const { error, error_description: description } = Object(body)
  if (typeof error !== 'string') return null
  return typeof description === 'string' ? `${error}: ${description}` : error
}

function describeCause(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  if (error.name === 'TimeoutError') return `no response within ${TIMEOUT_MS / 1_000} s`
  if (error.cause instanceof Error) return describeCause(error.cause)
  // An error that covers several addresses has a code, but no message.
  return error.message || String((error as NodeJS.ErrnoException).code)
}

/** Id and secret, form-encoded (RFC 6749, section 2.3.1). The library also encodes `-`, which some servers do not decode. */
function basicAuthorization(clientId: string, secret: string): string {
  return `Basic ${btoa([clientId, secret].map(formEncoded).join(':'))}`
}

/** Removes the secret in all its forms, since a server may quote the request. */
function withoutSecret(words: string, authorization: string, secret: string): string {
  return [authorization.slice('Basic '.length), formEncoded(secret), secret].reduce(
    (left, form) => left.replaceAll(form, '***'),
    words,
  )
}

function formEncoded(text: string): string {
  return new URLSearchParams({ text }).toString().slice('text='.length)
}
