import buildGetJwks, { type GetJwks, type GetJwksOptions, type JWKSignature } from 'get-jwks'
import type { Logger } from 'pino'
import { Agent } from 'undici'
import { loadKeys, type PublicKey } from './load-keys.ts'
import { preparedAnswer } from './prepared-answer.ts'

/** Between two requests that tokens cause, so that a flood of them is at most 2 requests in 10 s. */
const PAUSE_MS = 6_000
/** A key that was withdrawn is trusted no longer than this, as long as the provider answers. */
const REFRESH_INTERVAL_MS = 5 * 60_000
const SET_BYTES_MAX = 1024 * 1024
/** Where get-jwks believes the set to be. */
const ANY_URL = 'http://localhost'

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
      return newest.ids.has(kid) ? await pemOf(newest, { kid, alg } as Omit<JWKSignature, 'domain'>) : null
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
 * Each set has a get-jwks of its own, which looks up in that very set. Left to itself it would ask the provider at
 * every id that it does not know, wait as long as it takes, and go on with withdrawn keys for as long as they are used.
 */
function loadedSet(keys: readonly PublicKey[]): LoadedSet {
  const dispatcher = preparedAnswer(JSON.stringify({ keys })) as unknown
  const fetchOptions = { dispatcher } as GetJwksOptions['fetchOptions']
  return { ids: new Set(keys.map(({ kid }) => kid)), getJwks: buildGetJwks({ fetchOptions }) }
}

/** Null where the key with this id is for another algorithm. */
async function pemOf({ getJwks }: LoadedSet, wanted: Omit<JWKSignature, 'domain'>): Promise<string | null> {
  try {
    const { pem } = await getJwks.getJwk({ ...wanted, domain: ANY_URL })
    return pem
  } catch (error) {
    if ((error as { code?: unknown }).code === 'JWK_NOT_FOUND') return null
    throw error
  }
}
