import { readFile } from 'node:fs/promises'
import { request } from 'undici'
import { z } from 'zod'
import type { TokenClient } from '../config/config.ts'
import { printable } from '../core/text/sanitize.ts'
import { share } from '../core/time/share.ts'
import { ILLEGAL_SASL_STATE } from './errors.ts'

export interface AccessTokens {
  /** One that is valid. Rejects with AccessTokenError. */
  get(): Promise<string>
  /** A broker refuses it: another one is to be asked for. */
  forget(token: string): void
}

/** No token could be had, or none that a broker takes. It passes: kafkajs retries, and so do we. Holds no secret. */
export class AccessTokenError extends Error {
  override readonly name = 'AccessTokenError'
  readonly retriable = true
  /** kafkajs asks for a token in the middle of a log-in; of this type, an error has it begin on another connection. */
  readonly type = ILLEGAL_SASL_STATE
}

const TIMEOUT_MS = 5_000
/** A token has a few kilobytes. */
const BODY_BYTES_MAX = 64 * 1024
const QUOTED_LENGTH_MAX = 200
/** Where the endpoint does not tell how long a token is valid. */
const UNTOLD_VALID_MS = 60_000
/** Of its validity, how much a token is used: kafkajs logs in again 10 s before a session ends, with a newer one. */
const USED_SHARE = 0.8
/** One that is valid for less is not worth a log-in. */
const LEFT_MIN_MS = 15_000

const granted = z.object({
  // Whatever else it held could add to the message that carries it to the broker (RFC 6749, appendix A.12).
  access_token: z.string().regex(/^[ -~]+$/),
  expires_in: z.unknown().optional(),
})
/** In seconds. Some endpoints write it as text, or as null where they do not tell. */
const validity = z
  .union([z.number(), z.string().trim().min(1).transform(Number)])
  .pipe(z.number().positive())
  .nullish()
const refused = z.object({ error: z.string(), error_description: z.string().optional() })

const ofProcess = new WeakMap<TokenClient, AccessTokens>()

/** The access tokens of a client, shared by all connections of this process. */
export function accessTokensOf(client: TokenClient): AccessTokens {
  const known = ofProcess.get(client)
  if (known !== undefined) return known
  const tokens = createAccessTokens(client, () => performance.now())
  ofProcess.set(client, tokens)
  return tokens
}

/**
 * Gets access tokens by the client credentials grant (RFC 6749, section 4.4). A token is used again until a fifth of its
 * validity is left, and those who ask together get the same one. While the endpoint is down a valid one will do.
 */
export function createAccessTokens(client: TokenClient, nowMs: () => number): AccessTokens {
  let current: {
    readonly token: string
    readonly untilMs: number
    readonly validUntilMs: number
  } | null = null

  async function ask(): Promise<string> {
    const askedAtMs = nowMs()
    const { token, validMs } = await requestToken(client)
    current = { token, untilMs: askedAtMs + validMs * USED_SHARE, validUntilMs: askedAtMs + validMs }
    return token
  }

  async function askOrUse(): Promise<string> {
    try {
      return await ask()
    } catch (error) {
      if (current === null || nowMs() + LEFT_MIN_MS > current.validUntilMs) throw error
      return current.token
    }
  }

  const askTogether = share(askOrUse, 0, nowMs)
  return {
    get: () =>
      current !== null && nowMs() < current.untilMs ? Promise.resolve(current.token) : askTogether(),
    forget: (token) => {
      if (current?.token === token) current = null
    },
  }
}

async function requestToken(
  client: TokenClient,
): Promise<{ readonly token: string; readonly validMs: number }> {
  const secret = await secretOf(client)
  const { status, text } = await post(client, secret)
  const json = parseJson(text)
  if (status === 200) {
    const found = granted.safeParse(json)
    if (!found.success)
      throw new AccessTokenError(
        'the token endpoint of MQ_SASL_TOKEN_URL answers with something other than an access token',
      )
    const validS = validity.safeParse(found.data.expires_in)
    if (!validS.success)
      throw new AccessTokenError(
        'the token endpoint of MQ_SASL_TOKEN_URL answers with an access token whose expires_in is not a positive number',
      )
    return {
      token: found.data.access_token,
      validMs: validS.data ? validS.data * 1_000 : UNTOLD_VALID_MS,
    }
  }
  const found = refused.safeParse(json)
  // RFC 6749 gives it for whatever is wrong with the request; any other answer is not of a token endpoint in order.
  if (!found.success || ![400, 401, 403].includes(status))
    throw new AccessTokenError(`the token endpoint of MQ_SASL_TOKEN_URL answers with status ${status}`)
  const { error, error_description: description } = found.data
  const words = withoutSecret(description === undefined ? error : `${error}: ${description}`, client, secret)
  throw new AccessTokenError(
    `the token endpoint refuses a token (status ${status}, ${printable(words.slice(0, QUOTED_LENGTH_MAX))})`,
  )
}

async function post(
  client: TokenClient,
  secret: string,
): Promise<{ readonly status: number; readonly text: string }> {
  const authorization = `Basic ${credentialsOf(client, secret)}`
  const form = { grant_type: 'client_credentials', ...(client.scope !== null && { scope: client.scope }) }
  try {
    const { statusCode, body } = await request(client.url, {
      method: 'POST',
      headers: {
        authorization,
        accept: 'application/json',
        'content-type': 'application/x-www-form-urlencoded',
      },
      body: new URLSearchParams(form).toString(),
      // No idle connection is kept for so few requests.
      reset: true,
      signal: AbortSignal.timeout(TIMEOUT_MS),
    })
    return { status: statusCode, text: await textOf(body) }
  } catch (cause) {
    const { message, name } = cause as Error
    const words = name === 'TimeoutError' ? `no response within ${TIMEOUT_MS / 1_000} s` : message
    throw new AccessTokenError(`the token endpoint of MQ_SASL_TOKEN_URL cannot be used (${words})`, { cause })
  }
}

/** Reads no more than is allowed, however much the endpoint sends. */
async function textOf(body: AsyncIterable<Buffer>): Promise<string> {
  const pieces: Buffer[] = []
  let bytes = 0
  for await (const piece of body) {
    bytes += piece.length
    if (bytes > BODY_BYTES_MAX) throw new Error(`its response is larger than ${BODY_BYTES_MAX / 1024} kB`)
    pieces.push(piece)
  }
  return Buffer.concat(pieces).toString()
}

async function secretOf({ clientSecret }: TokenClient): Promise<string> {
  if ('text' in clientSecret) return clientSecret.text
  const text = await readFile(clientSecret.file, 'utf8').catch((cause: Error) => {
    throw new AccessTokenError(`MQ_SASL_CLIENT_SECRET_FILE cannot be read: ${cause.message}`, { cause })
  })
  const secret = text.replace(/[\r\n]+$/, '')
  if (secret === '')
    throw new AccessTokenError(
      `MQ_SASL_CLIENT_SECRET_FILE is empty: write the secret into ${clientSecret.file}`,
    )
  return secret
}

/** An endpoint may quote what it was sent, in any of the forms it has on the way. */
function withoutSecret(words: string, client: TokenClient, secret: string): string {
  return [credentialsOf(client, secret), formEncoded(secret), secret].reduce(
    (left, form) => left.replaceAll(form, '***'),
    words,
  )
}

/** Id and secret are encoded like a form before they are joined (RFC 6749, section 2.3.1). */
function credentialsOf({ clientId }: TokenClient, secret: string): string {
  return Buffer.from([clientId, secret].map(formEncoded).join(':')).toString('base64')
}

function formEncoded(text: string): string {
  return new URLSearchParams({ text }).toString().slice('text='.length)
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return null
  }
}
