import { type Dispatcher, request } from 'undici'
import { z } from 'zod'
import { parseSigningKey, type SigningKey } from './signing-key.ts'

/** From the first byte sent to the last one received. */
const TIMEOUT_MS = 3_000
export const KEY_COUNT_MAX = 100

export interface FoundKeys {
  /** Keys that can verify signatures: 0 to 100. */
  readonly keys: readonly SigningKey[]
  /** Number of keys in the set. */
  readonly foundCount: number
}

const keySet = z.object({ keys: z.array(z.unknown()) })

/**
 * The key set at `url`. Follows no redirect, which would let another host decide which keys are trusted. Rejects within 3 s; if the
 * response is not a key set, the error has the reason.
 */
export async function loadKeys(url: string, dispatcher: Dispatcher): Promise<FoundKeys> {
  const { statusCode, body } = await request(url, {
    dispatcher,
    signal: AbortSignal.timeout(TIMEOUT_MS),
    headers: { accept: 'application/json' },
  })
  if (statusCode !== 200) {
    await body.dump()
    throw new Error(`the identity provider responded with status ${statusCode}`)
  }
  const { data, error } = keySet.safeParse(await body.json())
  if (error !== undefined)
    throw new Error('the identity provider responded with something other than a key set', { cause: error })
  const keys = data.keys.slice(0, KEY_COUNT_MAX).flatMap((found) => parseSigningKey(found) ?? [])
  return { keys, foundCount: data.keys.length }
}
