import { useEffect, useRef, useState } from 'preact/hooks'
import type { Page } from '../core/log/log-page.ts'
import type { Query } from './api.ts'
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
}

/** Saves a whole list as a CSV file. */
export function Download<Item>({ path, query, name, head, lineOf }: DownloadProps<Item>) {
  const load = useLoad<Page<Item>>(path, { ...query, limit: PAGE_ITEMS })
  const [words, setWords] = useState('')
  const stop = useRef(new AbortController())
  useEffect(() => () => stop.current.abort(), [])

  async function download(): Promise<void> {
    const lines = [head]
    const found = () => counted(lines.length - 1, 'entry', 'entries')
    for (let cursor: string | null | undefined; cursor !== null; ) {
      setWords(`Loaded ${found()}…`)
      const told = await load({ cursor }, stop.current.signal)
      if (told === null) return
      if (told.data === undefined) return setWords(`Could not save the file. ${told.problem}`)
      lines.push(...told.data.items.map(lineOf))
      cursor = told.data.nextCursor
      if (cursor !== null && lines.length > DOWNLOAD_ITEMS_MAX) {
        saveFile(name, lines)
        return setWords(`The file holds only the newest ${found()}. Narrow the filters.`)
      }
    }
    saveFile(name, lines)
    setWords(`Saved ${found()}.`)
  }

  return (
    <p class="toolbar">
      <button type="button" class="outline" onClick={download} disabled={words.endsWith('…')}>
        Download as CSV
      </button>
      <span role="status">{words}</span>
    </p>
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
