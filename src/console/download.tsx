import { useEffect, useRef, useState } from 'preact/hooks'
import type { Page } from '../core/log/log-page.ts'
import type { Query } from './api.ts'
import { Problem } from './parts.tsx'
import { counted } from './text.ts'
import { useLoad } from './use-data.ts'

const PAGE_ITEMS = '200'
/** Spreadsheet programs still open a file of this size with ease. */
const DOWNLOAD_ITEMS_MAX = 50_000

const IDLE = { words: '', problem: null as string | null, isBusy: false }

interface DownloadProps<Item> {
  readonly path: readonly string[]
  readonly query: Query
  /** The name of the file. */
  readonly name: string
  readonly head: string
  readonly lineOf: (item: Item) => string
}

/** Saves a whole list as a CSV file. */
export function Download<Item>({ path, query, name, head, lineOf }: DownloadProps<Item>) {
  const load = useLoad<Page<Item>>(path, { ...query, limit: PAGE_ITEMS })
  const [{ words, problem, isBusy }, setState] = useState(IDLE)
  const stop = useRef(new AbortController())
  useEffect(() => () => stop.current.abort(), [])

  async function download(): Promise<void> {
    const lines = [head]
    const found = () => counted(lines.length - 1, 'entry', 'entries')
    let cursor: string | null | undefined
    while (cursor !== null && lines.length <= DOWNLOAD_ITEMS_MAX) {
      setState({ ...IDLE, words: `Loaded ${found()}…`, isBusy: true })
      const told = await load({ cursor }, stop.current.signal)
      if (told === null) return
      if (told.data === undefined)
        return setState({ ...IDLE, problem: `Could not save the file. ${told.problem}` })
      lines.push(...told.data.items.map(lineOf))
      cursor = told.data.nextCursor
    }
    saveFile(name, lines)
    const cut = `The file holds only the newest ${found()}. Narrow the filters.`
    setState(cursor === null ? { ...IDLE, words: `Saved ${found()}.` } : { ...IDLE, problem: cut })
  }

  return (
    <>
      <p class="toolbar">
        <button type="button" class="outline" onClick={download} disabled={isBusy}>
          Download as CSV
        </button>
        <span role="status" class="faint">
          {words}
        </span>
      </p>
      <Problem of={problem} />
    </>
  )
}

/** Makes the browser save a CSV file. */
export function saveFile(name: string, parts: readonly string[]): void {
  const url = URL.createObjectURL(new Blob([...parts], { type: 'text/csv' }))
  const link = document.createElement('a')
  link.href = url
  link.download = name
  link.click()
  URL.revokeObjectURL(url)
}
