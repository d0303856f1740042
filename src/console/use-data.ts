import { useCallback, useContext, useEffect, useState } from 'preact/hooks'
import type { Page } from '../core/shown.ts'
import { type Query, RequestError, read } from './api.ts'
import { Refused } from './session.ts'

/** What a view has been told so far. */
export interface Loaded<Data> {
  readonly data: Data | null
  /** In words; null while all is well. */
  readonly problem: string | null
  readonly isLoading: boolean
}
const NOTHING = { data: null, problem: null, isLoading: true }

/** Reads data when the view appears or asks for something else, and again every `everyMs` while the page is looked at. */
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
    const again = () =>
      load({}, stop.signal, (told) => setLoaded((held) => ({ ...held, ...told, isLoading: false })))
    again()
    const timer = everyMs === null ? null : setInterval(() => document.hidden || again(), everyMs)
    return () => {
      stop.abort()
      if (timer !== null) clearInterval(timer)
    }
  }, [load, everyMs])
  return loaded
}

/** A list that is read page by page, newest first. */
export interface Pages<Item> extends Loaded<readonly Item[]> {
  /** Reads the next page; null where there is none. */
  readonly more: (() => void) | null
}

/** Reads the first page of a list when the view appears or asks for something else, and further ones when told to. */
export function usePages<Item>(path: readonly string[], query: Query): Pages<Item> {
  const [loaded, setLoaded] = useState<Loaded<readonly Item[]>>(NOTHING)
  const [cursor, setCursor] = useState<string | null>(null)
  const load = useLoad<Page<Item>>(path, query)

  const readOn = useCallback(
    (held: readonly Item[], after: string | undefined, signal: AbortSignal) => {
      setLoaded((before) => ({ ...before, isLoading: true }))
      load({ cursor: after }, signal, ({ data, problem }) => {
        setLoaded({ data: data ? [...held, ...data.items] : held, problem, isLoading: false })
        if (data) setCursor(data.nextCursor)
      })
    },
    [load],
  )
  useEffect(() => {
    const stop = new AbortController()
    setCursor(null)
    readOn([], undefined, stop.signal)
    return () => stop.abort()
  }, [readOn])

  const canReadOn = cursor !== null && !loaded.isLoading
  const more = () => readOn(loaded.data ?? [], cursor ?? undefined, new AbortController().signal)
  return { ...loaded, more: canReadOn ? more : null }
}

/** Tells what was read, or why it could not be, unless it was called off. */
function useLoad<Data>(path: readonly string[], query: Query) {
  const refused = useContext(Refused)
  const asked = JSON.stringify([path, query])
  return useCallback(
    async (
      further: Query,
      signal: AbortSignal,
      tell: (told: { data?: Data; problem: string | null }) => void,
    ): Promise<void> => {
      const [wantedPath, wanted] = JSON.parse(asked) as [readonly string[], Query]
      try {
        const data = await read<Data>(wantedPath, { ...wanted, ...further }, signal)
        if (!signal.aborted) tell({ data, problem: null })
      } catch (error) {
        if (signal.aborted) return
        if (!(error instanceof RequestError)) throw error
        if (error.status === 401 || error.status === 403) refused(error)
        else tell({ problem: error.message })
      }
    },
    [asked, refused],
  )
}
