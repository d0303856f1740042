import { useEffect, useRef, useState } from 'preact/hooks'
import { LOG_CSV } from '../core/log/log-csv.ts'
import type { ListedLogEntry } from '../core/log/log-entry.ts'
import type { Page } from '../core/log/log-page.ts'
import { read } from './api.ts'
import { Button } from './parts.tsx'
import type { Query } from './route.ts'
import { counted } from './text.ts'

const PAGE_ITEMS = '200'
/** Spreadsheet programs still open a file of this size easily. */
const DOWNLOAD_ITEMS_MAX = 50_000

interface DownloadProps {
  readonly query: Query
  readonly name: string
  /** Changes of preferences to list among the entries, newest first. */
  readonly changes?: readonly Parameters<typeof LOG_CSV.formatChange>[0][]
}

/** Saves all entries of a list as a CSV file called `name`. */
export function Download({ query, name, changes = [] }: DownloadProps) {
  const [words, setWords] = useState('')
  const [isRunning, setRunning] = useState(false)
  const stop = useRef(new AbortController())
  useEffect(() => () => stop.current.abort(), [])

  async function readAll(): Promise<void> {
    const lines = [LOG_CSV.head]
    const waiting = [...changes]
    const addChanges = (afterwards: string) => {
      while (waiting[0] !== undefined && waiting[0].changedAt >= afterwards)
        lines.push(LOG_CSV.formatChange(waiting.shift() as (typeof changes)[number]))
    }
    const found = () => counted(lines.length - 1, 'entry', 'entries')
    for (let cursor: string | null | undefined; cursor !== null; ) {
      setWords(`Loaded ${found()}…`)
      const asked = { ...query, cursor, limit: PAGE_ITEMS }
      const page = await read<Page<ListedLogEntry>>(['log', 'list'], asked, stop.current.signal)
      for (const entry of page.items) {
        addChanges(entry.createdAt)
        lines.push(LOG_CSV.formatLine(entry))
      }
      cursor = page.nextCursor
      if (cursor !== null && lines.length > DOWNLOAD_ITEMS_MAX) {
        saveFile(name, lines)
        return setWords(`The file contains only the newest ${found()}. Narrow the filters.`)
      }
    }
    addChanges('')
    saveFile(name, lines)
    setWords(`Saved ${found()}.`)
  }

  const download = () => {
    setRunning(true)
    readAll()
      .catch((error: Error) => {
        if (!stop.current.signal.aborted) setWords(`Could not save the file. ${error.message}`)
      })
      .finally(() => setRunning(false))
  }
  return (
    <p class="hstack">
      <Button onClick={download} disabled={isRunning}>
        Download as CSV
      </Button>
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
