import { z } from 'zod'
import { IDENTIFIER_LENGTH_MAX } from '../../decide/event/parse-event.ts'
import { parseSince, SINCE_EXAMPLES, SINCE_WORDS } from '../../time/duration.ts'
import { ProblemError } from '../problems/problem.ts'
import type { HttpApp } from '../server/base.ts'

// biome-ignore lint/suspicious/noControlCharactersInRegex: written so that other languages read it in the API document
const WITHOUT_NUL = /^[^\u0000]*$/

/** Text that PostgreSQL and UTF-8 can represent, from 1 to `lengthMax` UTF-16 code units. */
export function text(lengthMax: number, wrongType = 'must be a string') {
  return (
    z
      .string(wrongType)
      .min(1, 'must not be empty')
      // Zod's own limit counts code points, but an opt-out's event type must be one that an event can have.
      .refine((value) => value.length <= lengthMax, `must have at most ${lengthMax} characters`)
      .regex(WITHOUT_NUL, 'must not contain NUL')
      .refine((value) => value.isWellFormed(), 'must not contain lone surrogates')
      .meta({ maxLength: lengthMax })
  )
}

/** A query parameter given twice arrives as a list. */
export const NOT_ONCE = 'must be given once'

/** A query parameter for an event id, an event type or a party locator. */
export const identifier = text(IDENTIFIER_LENGTH_MAX, NOT_ONCE)

/** A time as stored and shown: in UTC with microseconds, so that times compare as texts. */
export const time = z.iso.datetime({ precision: 6 })

/** A time in a response. A manually written row may hold a time outside this format, which is shown as PostgreSQL writes it. */
export const shownTime = z.string().meta({
  format: 'date-time',
  description:
    'ISO 8601 in UTC with six decimals. A stored time outside the years 1 to 9999 is shown as PostgreSQL writes it',
})

const FAR = /^(\d{4,6})-(\d\d-\d\d) (\d\d:\d\d:\d\d(?:\.\d{1,6})?)\+00( BC)?$/
/** The years of PostgreSQL, and the first day of the first one. */
const YEAR_MAX = 294_276
const YEAR_MAX_BC = 4_714
const FIRST_DAY = '11-24'
/** The calendar repeats itself after so many years. */
const CYCLE = 400

/** True for a time outside the years 1 to 9999, as PostgreSQL writes and reads it. */
export function isFarTime(text: string): boolean {
  const [, digits, day = '', clock, bc] = FAR.exec(text) ?? []
  if (digits === undefined) return text === 'infinity' || text === '-infinity'
  const year = Number(digits)
  const isKnown =
    bc === undefined
      ? year > 9_999 && year <= YEAR_MAX
      : year > 0 && (year < YEAR_MAX_BC || (year === YEAR_MAX_BC && day >= FIRST_DAY))
  const likeYear = 2_000 + ((((bc === undefined ? year : 1 - year) % CYCLE) + CYCLE) % CYCLE)
  return isKnown && z.iso.datetime().safeParse(`${likeYear}-${day}T${clock}Z`).success
}

/** A query parameter for a duration (ago), a date or a time, as in the commands; becomes a `Since`. */
export const since = z
  .string(NOT_ONCE)
  .transform((value) => parseSince(value))
  .refine((value) => value !== null, `must be ${SINCE_EXAMPLES} (in a URL, + is %2B)`)
  .meta({ description: `UTC; ${SINCE_WORDS}` })

const utf8 = new TextDecoder('utf-8', { fatal: true })

/** Makes an app accept JSON alone. */
export function acceptJson(app: HttpApp): void {
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('application/json', { parseAs: 'buffer' }, async (_: unknown, body: Buffer) =>
    parseJson(body),
  )
}

/**
 * Parses JSON in UTF-8; throws a problem for anything else. Unlike Fastify's parser it accepts the name `__proto__`, which is
 * safe as long as the value is not merged into another object.
 */
export function parseJson(body: Buffer): unknown {
  try {
    return JSON.parse(utf8.decode(body))
  } catch (cause) {
    throw new ProblemError('invalid-request', { detail: 'The body is not valid JSON in UTF-8.', cause })
  }
}
