import { InvalidArgumentError } from 'commander'
import { milliseconds } from '../../config/parsers.ts'
import type { DatabasePool } from '../../postgres/connection/pool.ts'
import { timeAgo } from '../../postgres/read/time-ago.ts'

/** A point in time as given to a command: a number of milliseconds ago, or a time in UTC with microseconds. */
export type Since = number | string

/** A hundred years: much further back there are no dates for PostgreSQL. */
const AGO_MAX_MS = 36_500 * 86_400_000

/** Reads a duration such as 7d, a time, or a day, which stands for its start. Throws InvalidArgumentError. */
export function parseSince(text: string): Since {
  return parse(text, 'start')
}

/** Like `parseSince`, but a day stands for its end. */
export function parseAt(text: string): Since {
  return parse(text, 'end')
}

function parse(text: string, day: keyof typeof TIME_OF_DAY): Since {
  // Without a unit it is more likely a year or a date than milliseconds.
  const agoMs = /^\d+$/.test(text) ? undefined : milliseconds(text)
  const since = agoMs !== undefined && agoMs <= AGO_MAX_MS ? agoMs : parseInstant(text, day)
  if (since === null) {
    throw new InvalidArgumentError(
      'Write a duration such as 7d, 12h or 30m (at most 36500d), a date such as 2026-01-31, or a time such as 2026-01-31T12:00:00Z.',
    )
  }
  return since
}

/** The time that is meant; durations count back from now by the database's clock. */
export async function timeOf(pool: DatabasePool, since: Since): Promise<string> {
  return typeof since === 'number' ? timeAgo(pool, since) : since
}

/** What a day without a time stands for. */
const TIME_OF_DAY = { start: 'T00:00:00Z', end: 'T23:59:59.999999Z' } as const

/**
 * Parses a time in ISO 8601 with `Z` or an offset and up to six decimals, or a day, which stands for its start or end in
 * UTC. Returns it in UTC with microseconds, so that it compares as text with the times of the database; null where it is
 * not valid, such as the 30th of February.
 */
function parseInstant(text: string, day: keyof typeof TIME_OF_DAY): string | null {
  const whole = /^\d{4}-\d{2}-\d{2}$/.test(text) ? `${text}${TIME_OF_DAY[day]}` : text
  const [, date, seconds, decimals = '', zone] =
    /^(\d{4}-\d{2}-\d{2})T(\d{2}:\d{2}:\d{2})(?:\.(\d{1,6}))?(Z|[+-]\d{2}:\d{2})$/.exec(whole) ?? []
  const instant = new Date(`${date}T${seconds}${zone}`)
  if (Number.isNaN(instant.getTime()) || !isDate(date as string)) return null
  const utc = instant.toISOString()
  // A year before 0 or after 9999 once in UTC.
  return /^\d{4}-/.test(utc) ? `${utc.slice(0, 19)}.${decimals.padEnd(6, '0')}Z` : null
}

/** Date takes the 30th of February for the 2nd of March. `date` is at most that far from one. */
function isDate(date: string): boolean {
  return new Date(`${date}T00:00:00Z`).toISOString().startsWith(date)
}
