import buildGetJwks, { type GetJwks } from 'get-jwks'
import type { Logger } from 'pino'
import { Agent } from 'undici'
import { KEY_COUNT_MAX, loadKeys, type PublicKey } from './load-keys.ts'

/** Minimum time between two requests caused by tokens: a flood of tokens causes at most 2 requests in 10 s. */
const PAUSE_MS = 6_000
/** A withdrawn key is trusted no longer than this, as long as the provider answers. */
const REFRESH_INTERVAL_MS = 5 * 60_000
const SET_BYTES_MAX = 1024 * 1024
/** Arbitrary: nothing is fetched from it. get-jwks would add a missing slash. */
const DOMAIN = 'https://localhost/'
/** Entries never expire: a set is replaced as a whole. */
const FOREVER_MS = Number.MAX_SAFE_INTEGER

/** Asymmetric algorithms only: with HMAC the public key would be the secret. */
export const ALGORITHMS = [
  ...(['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512'] as const),
  ...(['ES256', 'ES384', 'ES512', 'EdDSA'] as const),
]

export interface KeySet {
  /** Loads the keys in the background, now and every 5 minutes. */
  start: () => void
  /**
   * The key for a token's header as SPKI in PEM, or null. An unknown key id causes one request to the provider, shared by
   * all who wait and followed by a pause. Rejects with a `NoKeysError` if no keys were ever loaded.
   */
  keyOf: (header: { readonly kid?: unknown; readonly alg?: unknown }) => Promise<string | null>
  stop: () => void
}

/** No key set was ever loaded: no token can be validated. */
export class NoKeysError extends Error {
  override readonly name = 'NoKeysError'
}

/** The public keys at `url`, and nowhere else. Known keys stay valid while the identity provider is down. */
export function createKeySet(url: string, log: Logger, nowMs = () => performance.now()): KeySet {
  // No keep-alive: the provider would have closed the connection by the next load.
  const agent = new Agent({ maxResponseSize: SET_BYTES_MAX, pipelining: 0 })
  let newest: LoadedSet | null = null
  let timer: NodeJS.Timeout | undefined
  let askedAtMs = Number.NEGATIVE_INFINITY
  let loading: Promise<void> | null = null
  let isStopped = false

  async function load(): Promise<void> {
    askedAtMs = nowMs()
    try {
      const keys = await loadKeys(url, agent)
      if (newest === null) log.info({ keyCount: keys.length }, 'the key set is loaded')
      newest = loadedSet(keys)
    } catch (err) {
      if (isStopped) return
      const meanwhile = newest === null ? 'requests that need a token get a 503' : 'the known keys stay valid'
      log.warn({ err }, `the key set of IDP_JWKS_URI cannot be loaded: ${meanwhile}`)
    }
  }
  /** Joins a load under way; starts one unless the last one is too recent. */
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
      if (!newest?.ids.has(kid)) await refresh()
      if (newest === null) throw new NoKeysError('no key set has been loaded yet')
      return await pemOf(newest, { kid, alg })
    },
    stop: () => {
      isStopped = true
      clearInterval(timer)
      void agent.destroy()
    },
  }
}

/** The keys of one load. */
interface LoadedSet {
  readonly ids: ReadonlySet<unknown>
  readonly getJwks: GetJwks
}

/**
 * A get-jwks whose cache holds these keys, each under the algorithms it may be used for, so that it never fetches.
 * Left to itself, get-jwks requests the key set at every unknown key id, has no working time-out (`fetch` ignores its
 * option), accepts any key, and falls back to a withdrawn key when a request fails.
 */
function loadedSet(keys: readonly PublicKey[]): LoadedSet {
  const getJwks = buildGetJwks({ max: KEY_COUNT_MAX * ALGORITHMS.length, ttl: FOREVER_MS })
  for (const key of keys) {
    for (const alg of key.alg === undefined ? ALGORITHMS : [key.alg]) {
      const cacheKey = getJwks.generateCacheKey(alg, key.kid as string, DOMAIN)
      // Of two keys with one id and algorithm the first counts. The cache holds promises, whatever its types say.
      if (!getJwks.cache.get(cacheKey)) getJwks.cache.set(cacheKey, Promise.resolve(key) as never)
    }
  }
  return { ids: new Set(keys.map(({ kid }) => kid)), getJwks }
}

/** Null if there is no key with this id for this algorithm. */
async function pemOf(
  { ids, getJwks }: LoadedSet,
  { kid, alg }: { readonly kid?: unknown; readonly alg?: unknown },
): Promise<string | null> {
  if (!ids.has(kid)) return null
  const wanted = { domain: DOMAIN, kid: kid as string, alg: alg as string }
  if (!getJwks.cache.get(getJwks.generateCacheKey(wanted.alg, wanted.kid, DOMAIN))) return null
  const { pem } = await getJwks.getJwk(wanted)
  return pem
}
