import { z } from 'zod'
import { STATUSES } from './status.ts'

/** Number of log entries of one step with the same status. */
const logCount = z.object({
  /** Start of the step in seconds since 1970, a multiple of `stepS`. */
  startS: z.number(),
  status: z.enum(STATUSES),
  count: z.int(),
  /** FAILED entries past the last retry. */
  givenUp: z.int(),
})

/** Counts of the log from `fromS` to `toS`, in seconds since 1970 by the database's clock. */
export const logCounts = z.object({
  fromS: z.number(),
  toS: z.number(),
  stepS: z.number(),
  /** False if there are too many entries to count: only the newest were counted, those since `fromS`. */
  complete: z.boolean(),
  counts: z.array(logCount),
})
export type LogCounts = Readonly<z.infer<typeof logCounts>>
