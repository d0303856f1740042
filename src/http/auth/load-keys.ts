import { createPublicKey } from 'node:crypto'
import { type Dispatcher, request } from 'undici'
import { z } from 'zod'

/** From the first byte sent to the last one received. */
const TIMEOUT_MS = 3_000
export const KEY_COUNT_MAX = 100

/** A public key for signatures. Without `alg` the provider leaves the algorithm open. */
export interface PublicKey {
  readonly kid: string | undefined
  readonly alg: string | undefined
  /** SPKI. */
  readonly pem: string
}

const keySet = z.object({ keys: z.array(z.unknown()) })
const wellFormed = z.string().refine((text) => text.isWellFormed())
const jwk = z.looseObject({
  kid: wellFormed.optional(),
  alg: wellFormed.nullish(),
  use: z.literal('sig').optional(),
})

/**
 * The public signing keys at `url`, from 1 to 100. Follows no redirect: that would let another host decide which keys
 * are trusted. Rejects within 3 s, and says what is wrong with the response.
 */
export async function loadKeys(url: string, dispatcher: Dispatcher): Promise<PublicKey[]> {
  const { statusCode, body } = await request(url, {
    dispatcher,
    signal: AbortSignal.timeout(TIMEOUT_MS),
    headers: { accept: 'application/json' },
  })
  if (statusCode !== 200) {
    await body.dump()
    throw new Error(`the identity provider responded with status ${statusCode}`)
  }
  const { keys: found } = keySet.parse(await body.json())
  const keys = found.slice(0, KEY_COUNT_MAX).flatMap(publicKeyOf)
  if (keys.length === 0) throw new Error('the identity provider has no public signing key')
  return keys
}

/** Empty unless it is a public signing key that Node supports; a secret one (`oct`) is not. */
function publicKeyOf(found: unknown): PublicKey[] {
  try {
    const { kid, alg, use: _, ...key } = jwk.parse(found)
    const pem = createPublicKey({ key, format: 'jwk' }).export({ type: 'spki', format: 'pem' }).toString()
    return [{ kid, alg: alg ?? undefined, pem }]
  } catch {
    return []
  }
}
