import type { LogCounts } from '../../service/model/log/log-counts.ts'
import { STATUSES, type Status } from '../../service/model/log/status.ts'
import { inWords } from './text.ts'

/** Entries with a status: their count per step and in total. */
export interface Series {
  readonly status: Status
  readonly counts: readonly number[]
  readonly total: number
}

export interface Table {
  /** The start of every step in seconds since 1970, including steps without entries. */
  readonly startsS: readonly number[]
  readonly series: readonly Series[]
  readonly total: number
}

/** Counts as a table over time. */
export function buildTable({ fromS, toS, stepS, counts }: LogCounts): Table {
  const firstS = Math.floor(fromS / stepS) * stepS
  const startsS = Array.from({ length: Math.floor((toS - firstS) / stepS) + 1 }, (_, i) => firstS + i * stepS)
  const series = STATUSES.map((status) => {
    const own = counts.filter((count) => count.status === status)
    const steps = startsS.map((startS) =>
      sum(own.filter((count) => count.startS >= startS && count.startS < startS + stepS)),
    )
    return { status, counts: steps, total: steps.reduce((sum, count) => sum + count, 0) }
  })
  return { startsS, series, total: series.reduce((sum, { total }) => sum + total, 0) }
}

/** The CSS colour of a status. */
export function chooseColour(status: Status): string {
  return `var(--${status.toLowerCase()})`
}

/** A status in words. Some of the sent messages may only have been recorded by a placeholder. */
export function nameOfStatus(status: Status): string {
  return status === 'SENT' ? 'Sent or recorded' : inWords(status)
}

function sum(counts: LogCounts['counts']): number {
  return counts.reduce((sum, { count }) => sum + count, 0)
}
