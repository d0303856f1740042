import { useCallback, useContext, useEffect, useState } from 'preact/hooks'
import type { Page } from '../core/log/log-page.ts'
import { ask, type Query, RequestError, read } from './api.ts'
import { Refused } from './visit.ts'

/** The state of a request. */
interface Answer<Data> {
  readonly data: Data | null
  /** In words; null if nothing is wrong. */
  readonly problem: string | null
  readonly isLoading: boolean
}

/** The data that a view has loaded so far. */
export interface Loaded<Data> extends Answer<Data> {
  /** When `data` was read, in milliseconds since 1970; null where there is none. */
  readonly readAtMs: number | null
  /** Asks again at once, which also happens by itself; null where the answer would be the same. */
  readonly retry: (() => void) | null
}
const UNANSWERED = { data: null, problem: null, isLoading: true }
const NOTHING = { ...UNANSWERED, readAtMs: null, retry: null }

/** The pause before a failed request is repeated. */
const RETRY_MS = 10_000
/** Data that takes longer is no longer shown as current. */
const SLOW_MS = 5_000

/**
 * Loads data when the view appears or its query changes, again every `everyMs`, and soon after a failure: while the page is
 * visible, and as soon as it is visible again. The data held stays until there is newer data.
 */
export function useData<Data>(
  path: readonly string[],
  query: Query,
  everyMs: number | null = null,
): Loaded<Data> {
  const [loaded, setLoaded] = useState<Loaded<Data>>(NOTHING)
  const load = useLoad<Data>(path, query)

  useEffect(() => {
    const stop = new AbortController()
    // Undefined while a request is under way, and where none is to follow.
    let timer: ReturnType<typeof setTimeout> | undefined
    const change = (to: Partial<Loaded<Data>>) => setLoaded((held) => ({ ...held, ...to }))
    const again = async () => {
      clearTimeout(timer)
      timer = undefined
      change({ retry: null })
      const slow = setTimeout(() => change({ problem: 'The service takes long to respond.' }), SLOW_MS)
      const told = await load({}, stop.signal)
      clearTimeout(slow)
      if (told === null) return
      const { data, problem } = told
      if (data === undefined) change({ problem, isLoading: false, retry: told.mayPass ? again : null })
      else change({ data, problem, isLoading: false, readAtMs: Date.now() })
      const nextMs = told.mayPass ? RETRY_MS : everyMs
      if (nextMs !== null) timer = setTimeout(onTime, nextMs)
    }
    const onTime = () => {
      if (document.hidden) timer = setTimeout(onTime, RETRY_MS)
      else void again()
    }
    const onSight = () => {
      if (!document.hidden && timer !== undefined) void again()
    }
    document.addEventListener('visibilitychange', onSight)
    change({ isLoading: true })
    void again()
    return () => {
      document.removeEventListener('visibilitychange', onSight)
      stop.abort()
      clearTimeout(timer)
    }
  }, [load, everyMs])
  return loaded
}

/** One page of a list, newest first. */
export interface Pages<Item> extends Loaded<readonly Item[]> {
  /** The cursor of the next page; null on the last one. */
  readonly next: string | null
}

/** The service's pages can be short where it searches: up to this many are read to fill one. */
const READ_COUNT_MAX = 20
const PAGE_ITEMS = 100

/** Loads a page when the view appears, its query changes (with the cursor) or `visit` changes, and again after a failure. */
export function usePages<Item>(path: readonly string[], query: Query, visit: number): Pages<Item> {
  const [page, setPage] = useState<Pages<Item>>({ ...NOTHING, next: null })
  const load = useLoad<Page<Item>>(path, { ...query, limit: String(PAGE_ITEMS) })

  useEffect(() => {
    const stop = new AbortController()
    let timer: ReturnType<typeof setTimeout> | undefined
    const readOn = async (held: readonly Item[], after: string | undefined) => {
      clearTimeout(timer)
      let [items, next, count]: [readonly Item[], string | null | undefined, number] = [held, after, 0]
      const show = (to: Partial<Pages<Item>>) => setPage({ ...NOTHING, data: items, next: null, ...to })
      while (next !== null && count++ < READ_COUNT_MAX && items.length < PAGE_ITEMS / 2) {
        show({})
        const told = await load(next === undefined ? {} : { cursor: next }, stop.signal)
        if (told === null) return
        if (told.data === undefined) {
          const again = () => void readOn(items, next ?? undefined)
          if (told.mayPass) timer = setTimeout(again, RETRY_MS)
          return show({ isLoading: false, problem: told.problem, retry: told.mayPass ? again : null })
        }
        items = [...items, ...told.data.items]
        next = told.data.nextCursor
      }
      show({ isLoading: false, readAtMs: Date.now(), next: next ?? null })
    }
    void readOn([], undefined)
    return () => {
      stop.abort()
      clearTimeout(timer)
    }
  }, [load, visit])
  return page
}

/** The data or the problem; null if the request was aborted or the token was refused. */
type Told<Data> = {
  readonly data?: Data
  readonly problem: string | null
  /** It failed, and may not fail if it is asked for again. */
  readonly mayPass: boolean
} | null

/** A function that waits for what was asked. */
export function useTold(): <Data>(asked: Promise<Data>, signal: AbortSignal) => Promise<Told<Data>> {
  const refused = useContext(Refused)
  return useCallback(
    async (asked, signal) => {
      try {
        const data = await asked
        return signal.aborted ? null : { data, problem: null, mayPass: false }
      } catch (error) {
        if (signal.aborted) return null
        if (!(error instanceof RequestError)) throw error
        if (error.status !== 401 && error.status !== 403) {
          // 0: there was no response.
          return { problem: error.message, mayPass: error.status === 0 || error.status >= 500 }
        }
        refused(error)
        return null
      }
    },
    [refused],
  )
}

/** A function that loads data, with additional parameters. */
export function useLoad<Data>(
  path: readonly string[],
  query: Query,
): (further: Query, signal: AbortSignal) => Promise<Told<Data>> {
  const told = useTold()
  // Arrays and objects are new in each rendering even if their content is the same.
  const asked = JSON.stringify([path, query])
  return useCallback(
    (further, signal) => {
      const [wantedPath, wanted] = JSON.parse(asked) as [readonly string[], Query]
      return told(read<Data>(wantedPath, { ...wanted, ...further }, signal), signal)
    },
    [asked, told],
  )
}

/** How long somebody pauses before what they have typed is asked about. */
const PAUSE_MS = 250

/**
 * Asks about something each time it, or `again`, changes and nobody types any more, and soon after a failure; what was said
 * stays until the next answer.
 */
export function useAnswer<Data>(path: string, body: object, again = ''): Answer<Data> {
  const [loaded, setLoaded] = useState<Answer<Data>>(UNANSWERED)
  const told = useTold()
  const asked = JSON.stringify(body)
  useEffect(() => {
    const stop = new AbortController()
    setLoaded((held) => ({ ...held, isLoading: true }))
    const load = async () => {
      const answer = await told(ask<Data>(['workbench', path], JSON.parse(asked), stop.signal), stop.signal)
      if (answer === null) return
      const { data, problem, mayPass } = answer
      setLoaded((held) => ({ data: data ?? held.data, problem, isLoading: false }))
      if (mayPass) timer = setTimeout(load, RETRY_MS)
    }
    let timer = setTimeout(load, PAUSE_MS)
    return () => {
      clearTimeout(timer)
      stop.abort()
    }
  }, [path, asked, again, told])
  return loaded
}
