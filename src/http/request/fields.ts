import { z } from 'zod'
import { IDENTIFIER_LENGTH_MAX } from '../../core/event/parse-event.ts'

// biome-ignore lint/suspicious/noControlCharactersInRegex: written so that other languages read it in the API document
const WITHOUT_NUL = /^[^\u0000]*$/

/** Text that PostgreSQL and UTF-8 can represent, from 1 to `lengthMax` UTF-16 code units. */
export function text(lengthMax: number, wrongType = 'must be a string') {
  return (
    z
      .string(wrongType)
      .min(1, 'must not be empty')
      // Not zod's own limit: it counts code points, and an event type in an opt-out must be one that an event can have.
      .refine((value) => value.length <= lengthMax, `must have at most ${lengthMax} characters`)
      .regex(WITHOUT_NUL, 'must not contain NUL')
      .refine((value) => value.isWellFormed(), 'must not contain lone surrogates')
      .meta({ maxLength: lengthMax })
  )
}

/** A query parameter that is given twice arrives as a list. */
export const NOT_ONCE = 'must be given once'

/** A query parameter that holds an event id, an event type or a party locator. */
export const identifier = text(IDENTIFIER_LENGTH_MAX, NOT_ONCE)

/** A time as it is stored and shown: in UTC with microseconds, so that times compare as texts. */
export const time = z.iso.datetime({ precision: 6 })

/** A query parameter that holds an instant in ISO 8601, with any offset; becomes a `time`. */
export const instant = z
  .string(NOT_ONCE)
  .transform(timeOf)
  .refine(
    (value) => value !== null,
    'must be an ISO 8601 time with Z or an offset (whose + is %2B in a URL), such as 2026-01-31T12:00:00.123456Z',
  )
  .meta({ format: 'date-time' })

const INSTANT = z.iso.datetime({ offset: true })
const DECIMALS = /\.(\d+)/

/** Null unless it is an instant, no finer than microseconds and, in UTC, within the years 1 to 9999. */
function timeOf(value: string): string | null {
  if (!INSTANT.safeParse(value).success) return null
  const decimals = DECIMALS.exec(value)?.[1] ?? ''
  const seconds = new Date(value.replace(DECIMALS, ''))
  const shown = Number.isNaN(seconds.getTime()) ? '' : seconds.toISOString().slice(0, 19)
  return decimals.length > 6 || !/^(?!0000)\d{4}-/.test(shown) ? null : `${shown}.${decimals.padEnd(6, '0')}Z`
}
