import { type CountedBy, OTHER } from '../../service/model/log/count-windows.ts'
import type { LogCount, LogCounts } from '../../service/model/log/log-counts.ts'
import { STATUSES } from '../../service/model/log/status.ts'
import { inWords, visible } from './text.ts'

/** Entries that share a value of the dimension: their count per step and in total. */
export interface Series {
  readonly name: string
  readonly counts: readonly number[]
  readonly total: number
}

export interface Table {
  /** The start of every step in seconds since 1970, including steps without entries. */
  readonly startsS: readonly number[]
  readonly series: readonly Series[]
  readonly total: number
}

/** Counts as a table over time. Statuses keep their order; other series are sorted by total, with the rest last. */
export function buildTable({ fromS, toS, stepS, counts }: LogCounts, dimension: CountedBy): Table {
  const firstS = Math.floor(fromS / stepS) * stepS
  const startsS = Array.from({ length: Math.floor((toS - firstS) / stepS) + 1 }, (_, i) => firstS + i * stepS)
  const rows = new Map<string, number[]>(
    dimension === 'status' ? STATUSES.map((status) => [status, startsS.map(() => 0)]) : [],
  )
  for (const count of counts) {
    const name = seriesName(count, dimension)
    const at = Math.round((count.startS - firstS) / stepS)
    if (name === null || at < 0 || at >= startsS.length) continue
    const row = rows.get(name) ?? startsS.map(() => 0)
    row[at] = (row[at] ?? 0) + count.count
    rows.set(name, row)
  }
  const series = [...rows].map(([name, counts]) => ({ name, counts, total: sum(counts) }))
  if (dimension !== 'status') series.sort((a, b) => rank(b) - rank(a) || (a.name < b.name ? -1 : 1))
  return { startsS, series, total: sum(series.map(({ total }) => total)) }
}

export const REST = '(other)'

/** The CSS colour of a series. Green, amber and red are reserved for statuses. */
export function chooseColour(dimension: CountedBy, name: string, index: number): string {
  if (dimension === 'status') return `var(--${name.toLowerCase()})`
  return name === REST ? 'var(--rest)' : `hsl(${HUES[index % HUES.length]} 55% 55%)`
}
const HUES = [215, 275, 325, 245, 25, 200, 300, 345, 230, 45]

/** A status in words. Some of the sent messages may only have been recorded by a placeholder. */
export function nameOfStatus(status: string): string {
  return status === 'SENT' ? 'Sent or recorded' : inWords(status)
}

export function describeSeries(dimension: CountedBy, name: string): string {
  return dimension === 'status' ? nameOfStatus(name) : visible(name)
}

/** Null if the entry has no value: a sent entry has no reason. */
function seriesName(count: LogCount, dimension: CountedBy): string | null {
  const name = count[dimension]
  return name === OTHER ? REST : name
}

function rank({ name, total }: Series): number {
  return name === REST ? -1 : total
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((all, number) => all + number, 0)
}
