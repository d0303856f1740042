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
const jwk = z.looseObject({
  kid: z.string().optional(),
  alg: z.string().nullish(),
  use: z.literal('sig').optional(),
})

/**
 * The public keys for signatures that are at `url` now, at least one and at most 100. Follows no redirect, which would
 * let somebody else say which keys are good. Rejects, within 3 s, with what is wrong about the answer.
 */
export async function loadKeys(url: string, dispatcher: Dispatcher): Promise<PublicKey[]> {
  const { statusCode, body } = await request(url, {
    dispatcher,
    signal: AbortSignal.timeout(TIMEOUT_MS),
    headers: { accept: 'application/json' },
  })
  if (statusCode !== 200) {
    await body.dump()
    throw new Error(`the identity provider answered with status ${statusCode}`)
  }
  const { keys: found } = keySet.parse(await body.json())
  const keys = found.slice(0, KEY_COUNT_MAX).flatMap(publicKeyOf)
  if (keys.length === 0) throw new Error('the identity provider has no public key for signatures')
  return keys
}

/** None for what is no key for signatures, or none that Node knows, or a secret one (`oct`). */
function publicKeyOf(found: unknown): PublicKey[] {
  try {
    const { kid, alg, use: _, ...key } = jwk.parse(found)
    const pem = createPublicKey({ key, format: 'jwk' }).export({ type: 'spki', format: 'pem' }).toString()
    return [{ kid, alg: alg ?? undefined, pem }]
  } catch {
    return []
  }
}
