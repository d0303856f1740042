import { z } from 'zod'

const UNIT_MS = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const

/** Converts a duration such as `24h` to milliseconds, which a bare number already is; undefined for anything else. */
export function milliseconds(text: string): number | undefined {
  const [, amount, unit = 'ms'] = /^(\d{1,15})(ms|s|m|h|d)?$/.exec(text) ?? []
  return amount === undefined ? undefined : Number(amount) * UNIT_MS[unit as keyof typeof UNIT_MS]
}

/** A point in time: a number of milliseconds ago, or a time in UTC with microseconds. */
export type Since = number | string

/** The format, for help texts. */
export const SINCE_WORDS = 'a duration such as 7d, a date, or a time (ISO 8601)'

/** The format, for error messages. */
export const SINCE_EXAMPLES =
  'a duration such as 7d, 12h or 30m (at most 36500d), a date such as 2026-01-31, or a time with Z or an offset such as ' +
  '2026-01-31T12:00:00Z'

/** A hundred years. PostgreSQL has no dates much further back. */
const AGO_MAX_MS = 36_500 * 86_400_000

/** Time, in UTC, of a day given without one. */
const TIME_OF_DAY = { start: 'T00:00:00Z', end: 'T23:59:59.999999Z' } as const

const INSTANT = z.iso.datetime({ offset: true })
const DECIMALS = /\.(\d+)/

/** Reads a duration, a time, or a day, which means its start or its end; null for anything else. */
export function parseSince(text: string, day: keyof typeof TIME_OF_DAY = 'start'): Since | null {
  // A number without a unit is more likely a year or a date than milliseconds.
  const agoMs = /^\d+$/.test(text) ? undefined : milliseconds(text)
  if (agoMs !== undefined) return agoMs <= AGO_MAX_MS ? agoMs : null
  return parseInstant(/^\d{4}-\d{2}-\d{2}$/.test(text) ? `${text}${TIME_OF_DAY[day]}` : text)
}

/**
 * Converts a time in ISO 8601 with `Z` or an offset to UTC with microseconds, so that it compares as text with database times.
 * Null if it is not such a time, is finer than microseconds or, in UTC, outside the years 1 to 9999.
 */
function parseInstant(text: string): string | null {
  if (!INSTANT.safeParse(text).success) return null
  const decimals = DECIMALS.exec(text)?.[1] ?? ''
  // biome-ignore lint/style/noRestrictedGlobals: parses a text, and reads no clock
  const seconds = new Date(text.replace(DECIMALS, ''))
  const shown = Number.isNaN(seconds.getTime()) ? '' : seconds.toISOString().slice(0, 19)
  return decimals.length > 6 || !/^(?!0000)\d{4}-/.test(shown) ? null : `${shown}.${decimals.padEnd(6, '0')}Z`
}
