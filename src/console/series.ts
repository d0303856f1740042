import { STATUSES } from '../core/log/entry.ts'
import { type LogCount, type LogCounts, OTHER } from '../core/log/log-counts.ts'

/** What entries are told apart by. */
export const DIMENSIONS = ['status', 'reason', 'eventType'] as const
export type Dimension = (typeof DIMENSIONS)[number]

/** Entries that are alike in one dimension: how many there are in each step, and in all. */
export interface Series {
  readonly name: string
  readonly counts: readonly number[]
  readonly total: number
}

export interface Table {
  /** Seconds since 1970 at which the steps begin, all of them, also those without an entry. */
  readonly startsS: readonly number[]
  readonly series: readonly Series[]
  readonly total: number
}

/** Counts as a table over time. Statuses keep their order, all else is the most frequent first and the rest last. */
export function tableOf({ fromS, toS, stepS, counts }: LogCounts, dimension: Dimension): Table {
  const firstS = Math.floor(fromS / stepS) * stepS
  const startsS = Array.from({ length: Math.floor((toS - firstS) / stepS) + 1 }, (_, i) => firstS + i * stepS)
  const rows = new Map<string, number[]>(
    dimension === 'status' ? STATUSES.map((status) => [status, startsS.map(() => 0)]) : [],
  )
  for (const count of counts) {
    const name = nameOf(count, dimension)
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

export const REST = 'all others'

/** Null: it has none, as an entry that was sent has no reason. */
function nameOf(count: LogCount, dimension: Dimension): string | null {
  const name = count[dimension]
  return name === OTHER ? REST : name
}

function rank({ name, total }: Series): number {
  return name === REST ? -1 : total
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((all, number) => all + number, 0)
}
