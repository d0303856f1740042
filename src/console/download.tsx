import { useEffect, useRef, useState } from 'preact/hooks'
import type { Page } from '../core/log/log-page.ts'
import type { Query } from './api.ts'
import { Problem } from './parts.tsx'
import { counted } from './text.ts'
import { useLoad } from './use-data.ts'

const PAGE_ITEMS = '200'
/** Spreadsheet programs still open a file of this size with ease. */
const DOWNLOAD_ITEMS_MAX = 50_000

interface DownloadProps<Item> {
  readonly path: readonly string[]
  readonly query: Query
  /** The name of the file. */
  readonly name: string
  readonly head: string
  readonly lineOf: (item: Item) => string
  /** The advice if the file cannot hold everything. */
  readonly remedy: string
}

/** Saves a whole list as a CSV file. */
export function Download<Item>({ path, query, name, head, lineOf, remedy }: DownloadProps<Item>) {
  const load = useLoad<Page<Item>>(path, { ...query, limit: PAGE_ITEMS })
  const [state, setState] = useState<{ words: string; problem: string | null; isBusy: boolean } | null>(null)

  const stop = useRef(new AbortController())
  useEffect(() => () => stop.current.abort(), [])

  async function download(): Promise<void> {
    const lines = [head]
    const found = () => counted(lines.length - 1, 'entry', 'entries')
    for (let cursor: string | null | undefined; cursor !== null && lines.length <= DOWNLOAD_ITEMS_MAX; ) {
      setState({ words: `Loaded ${found()}…`, problem: null, isBusy: true })
      const told = await load({ cursor }, stop.current.signal)
      if (told === null) return
      if (told.data === undefined)
        return setState({ words: '', problem: `Could not save the file. ${told.problem}`, isBusy: false })
      lines.push(...told.data.items.map(lineOf))
      cursor = told.data.nextCursor
      if (cursor !== null && lines.length > DOWNLOAD_ITEMS_MAX) {
        const problem = `The file holds only the newest ${found()}. ${remedy}`
        saveFile(name, lines)
        return setState({ words: '', problem, isBusy: false })
      }
    }
    saveFile(name, lines)
    setState({ words: `Saved ${found()}.`, problem: null, isBusy: false })
  }

  return (
    <>
      <p class="download">
        <button type="button" onClick={download} disabled={state?.isBusy}>
          Download as CSV
        </button>
        <span role="status" class="faint">
          {state?.words}
        </span>
      </p>
      <Problem of={state?.problem ?? null} />
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
