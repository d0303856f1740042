import buildGetJwks, { type GetJwks } from 'get-jwks'
import type { Logger } from 'pino'
import { Agent } from 'undici'
import { KEY_COUNT_MAX, loadKeys, type PublicKey } from './load-keys.ts'

/** Between two requests that tokens cause, so that a flood of them is at most 2 requests in 10 s. */
const PAUSE_MS = 6_000
/** A key that was withdrawn is trusted no longer than this, as long as the provider answers. */
const REFRESH_INTERVAL_MS = 5 * 60_000
const SET_BYTES_MAX = 1024 * 1024
/** Any, since nothing is fetched from it; get-jwks adds a slash to one without. */
const DOMAIN = 'https://localhost/'
/** In effect: a set is replaced as a whole. */
const FOREVER_MS = Number.MAX_SAFE_INTEGER

/** Asymmetric ones only: with HMAC the public key would be the secret. */
export const ALGORITHMS = [
  ...(['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512'] as const),
  ...(['ES256', 'ES384', 'ES512', 'EdDSA'] as const),
]

export interface KeySet {
  /** Loads the keys for the first time, in the background, and anew every 5 minutes. */
  start: () => void
  /**
   * The key of a token's header as SPKI in PEM, null where the provider has none such. Unknown ids ask the provider,
   * once for all of them and with a pause after it. Rejects with a `NoKeysError` where no keys could be loaded ever.
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
  // Connections are not kept: the provider would have closed them by the time of the next load.
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
      const meanwhile =
        newest === null ? 'requests that need a token are answered 503' : 'the known keys go on'
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
      if (!newest?.ids.has(kid)) await refresh()
      if (newest === null) throw new NoKeysError('no key set could be loaded yet')
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
 * A get-jwks whose cache holds these keys, each under the algorithms that it may be used for, and which never fetches.
 * Left to itself it asks the provider at every key id that it does not know, ignores its own time-out (`fetch` has no
 * such option), judges no key, and falls back to a withdrawn one when a request fails.
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

/** Null where no key with this id is for this algorithm. */
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
