import buildGetJwks, { type GetJwks } from 'get-jwks'
import type { Logger } from 'pino'
import { EnvHttpProxyAgent } from 'undici'
import { type FoundKeys, KEY_COUNT_MAX, loadKeys } from './load-keys.ts'
import { ALGORITHMS, type SigningKey } from './signing-key.ts'

/** Minimum time between two requests caused by tokens: a flood of tokens causes at most 2 requests in 10 s. */
const PAUSE_MS = 6_000
/** Maximum time for which a withdrawn key stays trusted, as long as the provider answers. */
const TRUST_MAX_MS = 5 * 60_000
/** Early enough for the response to arrive within that time. */
const REFRESH_INTERVAL_MS = TRUST_MAX_MS - 60_000
/** Maximum age of known keys while the provider does not answer, to limit the use of a withdrawn key. */
const KEPT_MAX_MS = 24 * 60 * 60_000
const SET_BYTES_MAX = 1024 * 1024
/** An invented URL for the nth key with the same id and algorithm; nothing is fetched from it. get-jwks would add a missing slash. */
const nameNth = (n: number) => `https://localhost/${n}/`
/** Entries never expire: a set is replaced as a whole. */
const FOREVER_MS = Number.MAX_SAFE_INTEGER

interface TokenHeader {
  readonly kid?: unknown
  readonly alg?: unknown
}

/** No key set, or one that is too old: no token can be validated. */
export class NoKeysError extends Error {
  override readonly name = 'NoKeysError'
}

export type KeySet = ReturnType<typeof createKeySet>

/**
 * The public keys at `url`, and nowhere else. A key set replaces the previous one, even if it has no usable key. While the
 * identity provider sends none, the known keys stay valid for up to 24 hours.
 */
export function createKeySet(url: string, log: Logger, monotonicMs = () => performance.now()) {
  // No keep-alive: the provider would have closed the connection by the next load.
  const agent = new EnvHttpProxyAgent({ maxResponseSize: SET_BYTES_MAX, pipelining: 0 })
  let newest: (LoadedSet & { readonly keyCount: number; readonly loadedAtMs: number }) | null = null
  let timer: NodeJS.Timeout | undefined
  let askedAtMs = Number.NEGATIVE_INFINITY
  let loading: Promise<void> | null = null
  let isStopped = false

  /** Null if there is no key set, or if it is too old. */
  function usable(): LoadedSet | null {
    return newest !== null && monotonicMs() - newest.loadedAtMs < KEPT_MAX_MS ? newest : null
  }
  async function load(): Promise<void> {
    askedAtMs = monotonicMs()
    try {
      const found = await loadKeys(url, agent)
      logChange(found, newest?.keyCount ?? null, log)
      newest = { ...loadedSet(found.keys), keyCount: found.keys.length, loadedAtMs: monotonicMs() }
    } catch (err) {
      if (isStopped) return
      const meanwhile =
        usable() === null ? 'requests that need a token get a 503' : 'the known keys stay valid'
      log.warn({ err }, `the key set of IDP_JWKS_URI cannot be loaded: ${meanwhile}`)
    }
  }
  /** Joins a running load; starts one unless the last one is too recent. */
  async function refresh(): Promise<void> {
    if (monotonicMs() - askedAtMs >= PAUSE_MS) loading = load()
    await loading
  }

  return {
    /** Loads the keys in the background, now and every 4 minutes. */
    start: (): void => {
      void refresh()
      timer = setInterval(refresh, REFRESH_INTERVAL_MS).unref()
    },
    /**
     * The keys with the id and algorithm of a token's header, as SPKI in PEM. An unknown key id causes one request to the provider,
     * shared by all callers and followed by a pause. Rejects with a `NoKeysError` if no key set could be loaded in the last 24
     * hours.
     */
    findKeys: async ({ kid, alg }: TokenHeader): Promise<string[]> => {
      // The timer refreshes first, unless the process was suspended, so a known key need not wait.
      const isOverdue = monotonicMs() - askedAtMs >= TRUST_MAX_MS
      if (isOverdue || !usable()?.ids.has(kid)) await refresh()
      const keys = usable()
      if (keys === null) throw new NoKeysError('no key set has been loaded in the last 24 hours')
      return findPems(keys, { kid, alg })
    },
    stop: (): void => {
      isStopped = true
      clearInterval(timer)
      void agent.destroy()
    },
  }
}

/** Logs the first set, and each change between usable keys and none. `keyCountBefore` is null before the first set. */
function logChange({ keys, foundCount }: FoundKeys, keyCountBefore: number | null, log: Logger): void {
  const counts = { keyCount: keys.length, unfitCount: foundCount - keys.length }
  if (keys.length === 0 && keyCountBefore !== 0) {
    log.error(
      counts,
      'the key set of IDP_JWKS_URI has no key that is fit for signatures: all tokens are refused',
    )
  } else if (keys.length > 0 && (keyCountBefore ?? 0) === 0) log.info(counts, 'the key set is loaded')
}

/** The keys of one load. */
interface LoadedSet {
  readonly ids: ReadonlySet<unknown>
  readonly getJwks: GetJwks
}

/**
 * A get-jwks whose cache contains these keys under their allowed algorithms, so that it never fetches. Otherwise get-jwks
 * requests the key set at every unknown key id, has no working timeout (`fetch` ignores its option), accepts any key, and falls
 * back to a withdrawn key if a request fails.
 */
function loadedSet(keys: readonly SigningKey[]): LoadedSet {
  const getJwks = buildGetJwks({ max: KEY_COUNT_MAX * ALGORITHMS.length, ttl: FOREVER_MS })
  for (const key of keys) {
    for (const alg of key.algorithms) {
      const cacheKey = (n: number) => getJwks.generateCacheKey(alg, key.kid as string, nameNth(n))
      let n = 0
      while (getJwks.cache.get(cacheKey(n))) n++
      // The cache holds promises, despite its types.
      getJwks.cache.set(cacheKey(n), Promise.resolve(key) as never)
    }
  }
  return { ids: new Set(keys.map(({ kid }) => kid)), getJwks }
}

/** RFC 7517, 4.5, allows several keys with one id. */
async function findPems({ ids, getJwks }: LoadedSet, { kid, alg }: TokenHeader): Promise<string[]> {
  if (!ids.has(kid)) return []
  const pems: string[] = []
  for (let n = 0; ; n++) {
    const wanted = { domain: nameNth(n), kid: kid as string, alg: alg as string }
    if (!getJwks.cache.get(getJwks.generateCacheKey(wanted.alg, wanted.kid, wanted.domain))) return pems
    pems.push((await getJwks.getJwk(wanted)).pem)
  }
}
