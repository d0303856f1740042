import { useCallback, useContext, useEffect, useRef, useState } from 'preact/hooks'
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

/** A list that is loaded page by page, newest first. */
export interface Pages<Item> extends Loaded<readonly Item[]> {
  /** Loads the next pages; null on the last one. */
  readonly more: (() => void) | null
}

/** A short page need not be the last: up to this many pages are read to get this many items. */
const PAGES_AT_ONCE = 20
const ITEMS_AT_ONCE = 20

/**
 * Loads the start of a list when the view appears, its query changes or `visit` changes, and further pages on demand.
 */
export function usePages<Item>(path: readonly string[], query: Query, visit: number): Pages<Item> {
  const [loaded, setLoaded] = useState<Loaded<readonly Item[]>>(NOTHING)
  const [cursor, setCursor] = useState<string | null>(null)
  const load = useLoad<Page<Item>>(path, query)
  const stop = useRef(new AbortController())
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined)

  const readOn = useCallback(
    async (held: readonly Item[], after: string | null, signal: AbortSignal) => {
      clearTimeout(timer.current)
      const change = (to: Partial<Loaded<readonly Item[]>>) =>
        setLoaded({ ...NOTHING, data: items, isLoading: false, ...to })
      let items = held
      let next = after
      for (let count = 0; count < PAGES_AT_ONCE && items.length < held.length + ITEMS_AT_ONCE; count++) {
        change({ isLoading: true })
        const told = await load(next === null ? {} : { cursor: next }, signal)
        if (told === null) return
        if (told.data === undefined) {
          const retry = told.mayPass ? () => void readOn(items, next, signal) : null
          if (retry !== null) timer.current = setTimeout(retry, RETRY_MS)
          setCursor(next)
          return change({ problem: told.problem, retry })
        }
        items = [...items, ...told.data.items]
        next = told.data.nextCursor
        if (next === null) break
      }
      change({ readAtMs: Date.now() })
      setCursor(next)
    },
    [load],
  )
  useEffect(() => {
    stop.current = new AbortController()
    setCursor(null)
    readOn([], null, stop.current.signal)
    return () => {
      stop.current.abort()
      clearTimeout(timer.current)
    }
  }, [readOn, visit])

  const canReadOn = cursor !== null && !loaded.isLoading && loaded.problem === null
  const more = () => void readOn(loaded.data ?? [], cursor, stop.current.signal)
  return { ...loaded, more: canReadOn ? more : null }
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
