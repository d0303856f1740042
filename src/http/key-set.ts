import { createPublicKey } from 'node:crypto'
import type { Logger } from 'pino'
import { z } from 'zod'

/** How long the identity provider may take for its key set; less than the pause, so that loads never overlap. */
const LOAD_TIMEOUT_MS = 3_000
const SET_BYTES_MAX = 1024 * 1024
const KEY_COUNT_MAX = 100
/** Between two requests that tokens cause, so that a flood of them is at most 2 requests in 10 s. */
const PAUSE_MS = 6_000
/** A key that was withdrawn is trusted no longer than this, as long as the provider answers. */
const REFRESH_INTERVAL_MS = 5 * 60_000

/** One public key, as SPKI in PEM. `alg` is null where the provider leaves the algorithm open. */
interface Key {
  readonly kid: string | undefined
  readonly alg: string | null
  readonly pem: string
}

export interface KeySet {
  /** Loads the keys for the first time, in the background, and anew every 5 minutes. */
  start: () => void
  /**
   * The key of a token's header, null where the provider has none such. Unknown ids ask the provider, once for all of
   * them and with a pause after it. Rejects with a `NoKeysError` where no keys could be loaded ever.
   */
  keyOf: (header: { readonly kid?: unknown; readonly alg?: unknown }) => Promise<string | null>
  stop: () => void
}

/** No key set could be loaded, so that nothing can be said about any token. */
export class NoKeysError extends Error {
  override readonly name = 'NoKeysError'
}

/** The public keys at `url`, and nowhere else. Keys that are known go on while the identity provider is down. */
export function createKeySet(url: string, log: Logger, nowMs = () => performance.now()): KeySet {
  const stopped = new AbortController()
  let keys: readonly Key[] | null = null
  let timer: NodeJS.Timeout | undefined
  let askedAtMs = Number.NEGATIVE_INFINITY
  let loading: Promise<void> | null = null

  async function load(): Promise<void> {
    askedAtMs = nowMs()
    try {
      const loaded = await loadKeys(url, stopped.signal)
      if (keys === null) log.info({ keyCount: loaded.length }, 'the key set is loaded')
      keys = loaded
    } catch (err) {
      if (stopped.signal.aborted) return
      const meanwhile = keys === null ? 'requests that need a token are answered 503' : 'the known keys go on'
      log.warn({ err }, `the key set of IDP_JWKS_URI cannot be loaded: ${meanwhile}`)
    }
  }
  /** Joins a load that is under way; begins one unless the last one is too recent. */
  async function refresh(): Promise<void> {
    if (nowMs() - askedAtMs >= PAUSE_MS) loading = load()
    await loading
  }

  return {
    start: () => {
      void refresh()
      timer = setInterval(refresh, REFRESH_INTERVAL_MS).unref()
    },
    keyOf: async ({ kid, alg }) => {
      const find = () => keys?.find((key) => key.kid === kid && (key.alg ?? alg) === alg)?.pem ?? null
      const known = find()
      if (known !== null) return known
      await refresh()
      if (keys === null) throw new NoKeysError('no key set could be loaded yet')
      return find()
    },
    stop: () => {
      clearInterval(timer)
      stopped.abort()
    },
  }
}

const keySet = z.object({ keys: z.array(z.unknown()) })
const jwk = z.looseObject({
  kid: z.string().optional(),
  alg: z.string().nullable().default(null),
  use: z.literal('sig').optional(),
})

async function loadKeys(url: string, stopped: AbortSignal): Promise<Key[]> {
  const signal = AbortSignal.any([stopped, AbortSignal.timeout(LOAD_TIMEOUT_MS)])
  // A redirect would let somebody else say which keys are good.
  const response = await fetch(url, { signal, redirect: 'error', headers: { accept: 'application/json' } })
  if (response.status !== 200) {
    await response.body?.cancel()
    throw new Error(`the identity provider answered with status ${response.status}`)
  }
  const { keys: found } = keySet.parse(JSON.parse(await textOf(response)))
  const keys = found.slice(0, KEY_COUNT_MAX).flatMap(keyOf)
  if (keys.length === 0) throw new Error('the identity provider has no public key for signatures')
  return keys
}

async function textOf({ body }: Response): Promise<string> {
  const chunks: Uint8Array[] = []
  let bytes = 0
  for await (const chunk of body ?? []) {
    bytes += chunk.length
    if (bytes > SET_BYTES_MAX) throw new Error(`the key set has more than ${SET_BYTES_MAX} bytes`)
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString()
}

/** None for what is no key for signatures, or none that Node knows, or a secret one (`oct`). */
function keyOf(found: unknown): Key[] {
  try {
    const { kid, alg, use: _, ...key } = jwk.parse(found)
    const pem = createPublicKey({ key, format: 'jwk' }).export({ type: 'spki', format: 'pem' }).toString()
    return [{ kid, alg, pem }]
  } catch {
    return []
  }
}
