import { z } from 'zod'
import { STATUSES } from './status.ts'

/** Log entries of one step that are alike. */
const logCount = z.object({
  /** When the step begins: seconds since 1970, a multiple of `stepS`. */
  startS: z.number(),
  status: z.enum(STATUSES),
  /** The failure reason up to its first colon; null on SENT; `OTHER` for all but the most frequent ones. */
  reason: z.string().nullable(),
  /** `OTHER` for all but the most frequent ones. */
  eventType: z.string(),
  count: z.int(),
  /** FAILED ones past the last retry. */
  givenUp: z.int(),
})
export type LogCount = Readonly<z.infer<typeof logCount>>

/** The log counted from `fromS` to `toS`, both in seconds since 1970 by the database's clock. */
export const logCounts = z.object({
  fromS: z.number(),
  toS: z.number(),
  stepS: z.number(),
  /** False: there are more entries than are counted at once, so only the newest were, those since `fromS`. */
  complete: z.boolean(),
  counts: z.array(logCount),
})
export type LogCounts = Readonly<z.infer<typeof logCounts>>
