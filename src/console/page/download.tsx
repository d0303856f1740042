import { useState } from 'preact/hooks'
import { LOG_CSV } from '../../operations/log/log-csv.ts'
import { nameOfChannel, shownSubject } from '../../service/decide/party/channel.ts'
import type { ListedLogEntry } from '../../service/model/log/log-entry.ts'
import type { Page } from '../../service/model/log/log-page.ts'
import { describeStatus } from '../../service/model/log/status.ts'
import { readPages } from './api.ts'
import { Button } from './parts.tsx'
import type { Query } from './route.ts'
import { counted, inWords } from './text.ts'
import { useRun } from './use-run.ts'

const PAGE_ITEMS = '200'
/** Spreadsheet programs still open a file of this size easily. */
const DOWNLOAD_ITEMS_MAX = 50_000

/** A line about a member's preferences. */
export interface Remark {
  /** Null for the current state. */
  readonly createdAt: string | null
  readonly status: string
  readonly eventType: string | null
  readonly partyLocator: string
  readonly channel: string | null
  readonly because: string
}

interface DownloadProps {
  readonly query: Query
  readonly name: string
  /** To list among the entries, newest first. */
  readonly remarks?: readonly Remark[]
}

/** Saves all entries of a list as the CSV file `name`, in the words of the screen. */
export function Download({ query, name, remarks = [] }: DownloadProps) {
  const { progress, problem, start } = useRun()
  const [saved, setSaved] = useState('')
  const download = () =>
    start(async (signal, setProgress) => {
      const lines = [LOG_CSV.head]
      let rest = remarks
      const addRemarks = (afterwards: string) => {
        const count = rest.filter(({ createdAt }) => (createdAt ?? '~') >= afterwards).length
        lines.push(...rest.slice(0, count).map(LOG_CSV.formatLine))
        rest = rest.slice(count)
      }
      let entryCount = 0
      const found = () => countEntries(entryCount, lines.length - 1 - entryCount)
      setProgress(`Loaded ${found()}…`)
      const asked = { ...query, limit: PAGE_ITEMS }
      for await (const page of readPages<Page<ListedLogEntry>>(['log', 'list'], asked, signal)) {
        for (const entry of page.items) {
          addRemarks(entry.createdAt)
          lines.push(formatEntry(entry))
          entryCount++
        }
        if (page.nextCursor !== null && lines.length > DOWNLOAD_ITEMS_MAX) {
          saveFile(name, lines)
          return setSaved(`The file contains only the newest ${found()}. Narrow the filters.`)
        }
        setProgress(`Loaded ${found()}…`)
      }
      addRemarks('')
      saveFile(name, lines)
      setSaved(`Saved ${found()}.`)
    })
  return (
    <p class="hstack">
      <Button onClick={download} disabled={progress !== null}>
        Download as CSV
      </Button>
      <span role="status">
        {progress ?? (problem === null ? saved : `Could not save the file. ${problem}`)}
      </span>
    </p>
  )
}

/** Example: "5 entries, and 2 lines about preferences". */
export function countEntries(entryCount: number, remarkCount: number): string {
  const entries = counted(entryCount, 'entry', 'entries')
  return remarkCount === 0
    ? entries
    : `${entries}, and ${counted(remarkCount, 'line', 'lines')} about preferences`
}

/** A message without a subject has its text there. */
function formatEntry(entry: ListedLogEntry): string {
  const { status, channel, body } = entry
  return LOG_CSV.formatLine({
    ...entry,
    status: inWords(describeStatus(entry)),
    channel: status === 'SKIPPED' ? null : inWords(nameOfChannel(channel)),
    subject: shownSubject(channel, entry.subject) ?? (status === 'SENT' ? body : null),
  })
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
