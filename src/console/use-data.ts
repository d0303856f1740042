import { useCallback, useContext, useEffect, useRef, useState } from 'preact/hooks'
import type { Page } from '../core/list/page.ts'
import { ask, type Query, RequestError, read } from './api.ts'
import { Refused } from './visit.ts'

/** What a view has loaded so far. */
export interface Loaded<Data> {
  readonly data: Data | null
  /** In words; null if nothing is wrong. */
  readonly problem: string | null
  readonly isLoading: boolean
}
const NOTHING = { data: null, problem: null, isLoading: true }

/** Loads data when the view appears or its query changes, and again every `everyMs` while the page is visible. */
export function useData<Data>(
  path: readonly string[],
  query: Query,
  everyMs: number | null = null,
): Loaded<Data> {
  const [loaded, setLoaded] = useState<Loaded<Data>>(NOTHING)
  const load = useLoad<Data>(path, query)

  useEffect(() => {
    const stop = new AbortController()
    setLoaded((held) => ({ ...held, isLoading: true }))
    const again = async () => {
      const told = await load({}, stop.signal)
      if (told !== null)
        setLoaded((held) => ({ data: told.data ?? held.data, problem: told.problem, isLoading: false }))
    }
    again()
    const timer = everyMs === null ? null : setInterval(() => document.hidden || again(), everyMs)
    return () => {
      stop.abort()
      if (timer !== null) clearInterval(timer)
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

  const readOn = useCallback(
    async (held: readonly Item[], after: string | null, signal: AbortSignal) => {
      let items = held
      let next = after
      for (let count = 0; count < PAGES_AT_ONCE && items.length < held.length + ITEMS_AT_ONCE; count++) {
        setLoaded({ data: items, problem: null, isLoading: true })
        const told = await load(next === null ? {} : { cursor: next }, signal)
        if (told === null) return
        if (told.data === undefined) {
          setCursor(next)
          return setLoaded({ data: items, problem: told.problem, isLoading: false })
        }
        items = [...items, ...told.data.items]
        next = told.data.nextCursor
        if (next === null) break
      }
      setLoaded({ data: items, problem: null, isLoading: false })
      setCursor(next)
    },
    [load],
  )
  useEffect(() => {
    stop.current = new AbortController()
    setCursor(null)
    readOn([], null, stop.current.signal)
    return () => stop.current.abort()
  }, [readOn, visit])

  const canReadOn = cursor !== null && !loaded.isLoading
  const more = () => void readOn(loaded.data ?? [], cursor, stop.current.signal)
  return { ...loaded, more: canReadOn ? more : null }
}

/** What was loaded, or why it could not be; null if the request was aborted or the token was refused. */
type Told<Data> = { readonly data?: Data; readonly problem: string | null } | null

/** A function that loads data, with additional parameters. */
export function useLoad<Data>(
  path: readonly string[],
  query: Query,
): (further: Query, signal: AbortSignal) => Promise<Told<Data>> {
  const refused = useContext(Refused)
  // Arrays and objects are new in each rendering even if their content is the same.
  const asked = JSON.stringify([path, query])
  return useCallback(
    async (further, signal) => {
      const [wantedPath, wanted] = JSON.parse(asked) as [readonly string[], Query]
      try {
        const data = await read<Data>(wantedPath, { ...wanted, ...further }, signal)
        return signal.aborted ? null : { data, problem: null }
      } catch (error) {
        if (signal.aborted) return null
        if (!(error instanceof RequestError)) throw error
        if (error.status !== 401 && error.status !== 403) return { problem: error.message }
        refused(error)
        return null
      }
    },
    [asked, refused],
  )
}

/** How long somebody pauses before what they have typed is asked about. */
const PAUSE_MS = 250

/** Asks about something each time it changes and nobody types any more; what was said stays until the next answer. */
export function useAnswer<Data>(path: string, body: object): Loaded<Data> {
  const [loaded, setLoaded] = useState<Loaded<Data>>(NOTHING)
  const refused = useContext(Refused)
  const asked = JSON.stringify(body)
  useEffect(() => {
    const stop = new AbortController()
    setLoaded((held) => ({ ...held, isLoading: true }))
    const timer = setTimeout(async () => {
      try {
        const data = await ask<Data>(['workbench', path], JSON.parse(asked), stop.signal)
        if (!stop.signal.aborted) setLoaded({ data, problem: null, isLoading: false })
      } catch (error) {
        if (stop.signal.aborted) return
        if (!(error instanceof RequestError)) throw error
        if (error.status === 401 || error.status === 403) refused(error)
        else setLoaded((held) => ({ ...held, problem: error.message, isLoading: false }))
      }
    }, PAUSE_MS)
    return () => {
      clearTimeout(timer)
      stop.abort()
    }
  }, [path, asked, refused])
  return loaded
}
