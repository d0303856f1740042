import { useEffect, useRef, useState } from 'preact/hooks'
import type { Page } from '../core/log/log-page.ts'
import { type Query, read } from './api.ts'
import { counted } from './text.ts'

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
}

/** Saves a whole list as a CSV file. */
export function Download<Item>({ path, query, name, head, lineOf }: DownloadProps<Item>) {
  const [words, setWords] = useState('')
  const stop = useRef(new AbortController())
  useEffect(() => () => stop.current.abort(), [])

  async function readAll(): Promise<void> {
    const lines = [head]
    const found = () => counted(lines.length - 1, 'entry', 'entries')
    for (let cursor: string | null | undefined; cursor !== null; ) {
      setWords(`Loaded ${found()}…`)
      const page = await read<Page<Item>>(path, { ...query, cursor, limit: PAGE_ITEMS }, stop.current.signal)
      lines.push(...page.items.map(lineOf))
      cursor = page.nextCursor
      if (cursor !== null && lines.length > DOWNLOAD_ITEMS_MAX) {
        saveFile(name, lines)
        return setWords(`The file holds only the newest ${found()}. Narrow the filters.`)
      }
    }
    saveFile(name, lines)
    setWords(`Saved ${found()}.`)
  }

  const download = () =>
    readAll().catch((error: Error) => {
      if (!stop.current.signal.aborted) setWords(`Could not save the file. ${error.message}`)
    })
  return (
    <p class="toolbar">
      <button type="button" class="outline" onClick={download} disabled={words.endsWith('…')}>
        Download as CSV
      </button>
      <span role="status">{words}</span>
    </p>
  )
}

/** Makes the browser save a file. */
export function saveFile(name: string, parts: readonly BlobPart[], type = 'text/csv'): void {
  const url = URL.createObjectURL(new Blob([...parts], { type }))
  const link = document.createElement('a')
  link.href = url
  link.download = name
  link.click()
  URL.revokeObjectURL(url)
}
