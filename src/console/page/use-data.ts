import { createContext } from 'preact'
import { useContext, useEffect, useState } from 'preact/hooks'
import type { Page } from '../../service/model/log/log-page.ts'
import { RequestError, read, readPages } from './api.ts'
import type { Query } from './route.ts'

export interface Loaded<Data> {
  readonly data: Data | null
  /** The problem in words, or null. */
  readonly problem: string | null
  /** Time at which `data` was completely read, in milliseconds since 1970; null before that. */
  readonly readAtMs: number | null
  /** Retries at once, as also happens automatically; null if the answer would be the same. */
  readonly retry: (() => void) | null
}
const NOTHING = { data: null, problem: null, readAtMs: null, retry: null }

/** `visit` counts navigations. `refused` handles a token that the service refuses. */
export const Visit = createContext({ visit: 0, refused: (_error: RequestError) => {} })

/** Pause in milliseconds until data is read again, or null. A function must be the same in each rendering. */
type Every<Data> = number | null | ((data: Data) => number | null)

/** Pause before a failed request is repeated. */
const RETRY_MS = 10_000
/** Time after which data is no longer shown as current. */
const SLOW_MS = 5_000

/**
 * Loads data when the view appears or `asked` changes, again after `every` milliseconds, which may depend on the data, and soon
 * after a failure; only while the page is visible, and as soon as it is visible again. Data that is refreshed stays until newer
 * data arrives.
 */
function useLoaded<Data>(
  asked: string,
  load: (signal: AbortSignal) => Promise<Data>,
  every: Every<Data>,
): Loaded<Data> {
  const [loaded, setLoaded] = useState<Loaded<Data>>(NOTHING)
  const { refused } = useContext(Visit)

  // `asked` identifies the data that `load` loads; `load` and `refused` are new in each rendering.
  useEffect(() => {
    const stop = new AbortController()
    // Undefined during a request, and if none is to follow.
    let timer: ReturnType<typeof setTimeout> | undefined
    const change = (to: Partial<Loaded<Data>>) => {
      if (!stop.signal.aborted) setLoaded((held) => ({ ...held, ...to }))
    }
    const again = async () => {
      clearTimeout(timer)
      timer = undefined
      change({ retry: null })
      const slow = setTimeout(() => change({ problem: 'The service is slow to respond.' }), SLOW_MS)
      let nextMs = typeof every === 'function' ? null : every
      try {
        const data = await load(stop.signal)
        change({ data, problem: null, readAtMs: Date.now() })
        if (typeof every === 'function') nextMs = every(data)
      } catch (error) {
        if (stop.signal.aborted) return
        if (!(error instanceof RequestError)) throw error
        if (error.status === 401 || error.status === 403) return refused(error)
        // 0: there was no response.
        const mayPass = error.status === 0 || error.status >= 500
        if (mayPass) nextMs = RETRY_MS
        change({ problem: error.message, retry: mayPass ? again : null })
      } finally {
        clearTimeout(slow)
      }
      if (nextMs !== null && !stop.signal.aborted) timer = setTimeout(onTime, nextMs)
    }
    const onTime = () => {
      if (document.hidden) timer = setTimeout(onTime, RETRY_MS)
      else void again()
    }
    const onSight = () => {
      if (!document.hidden && timer !== undefined) void again()
    }
    document.addEventListener('visibilitychange', onSight)
    if (every === null) change(NOTHING)
    void again()
    return () => {
      document.removeEventListener('visibilitychange', onSight)
      stop.abort()
      clearTimeout(timer)
    }
  }, [asked, every])
  return loaded
}

/** The service's data at a path. */
export function useData<Data>(
  path: readonly string[],
  query: Query = {},
  every: Every<Data> = null,
): Loaded<Data> {
  return useLoaded(JSON.stringify([path, query]), (signal) => read<Data>(path, query, signal), every)
}

/** Maximum number of the service's pages read to fill one, since they can be short during a search. */
const READ_COUNT_MAX = 20
/** Maximum page size of the service. */
const PAGE_ITEMS = 200

/** Loads a page of a list, again at each navigation. */
export function usePages<Item>(path: readonly string[], query: Query): Loaded<Page<Item>> {
  const load = async (signal: AbortSignal) => {
    const asked = { ...query, limit: String(PAGE_ITEMS) }
    const items: Item[] = []
    let nextCursor: string | null = null
    let readCount = 0
    for await (const page of readPages<Page<Item>>(path, asked, signal)) {
      items.push(...page.items)
      nextCursor = page.nextCursor
      readCount++
      if (readCount === READ_COUNT_MAX || items.length >= PAGE_ITEMS / 2) break
    }
    return { items, nextCursor }
  }
  return useLoaded(JSON.stringify([path, query, useContext(Visit).visit]), load, null)
}
