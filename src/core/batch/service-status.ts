import { z } from 'zod'
import { BLOCK_REASONS, type Blocked } from './blocked.ts'

/** State of one process for the console. The first three are null while all is well, else the reason. */
export const serviceStatus = z.object({
  consuming: z.string().nullable(),
  database: z.string().nullable(),
  lookUps: z.string().nullable(),
  blocked: z.array(
    z.object({
      topic: z.string(),
      partition: z.int(),
      reason: z.string(),
      remedy: z.string(),
      /** The first offset that is not processed; null where the topic is missing. */
      offset: z.string().nullable(),
      /** ISO 8601 */
      since: z.string(),
    }),
  ),
})
export type ServiceStatus = Readonly<z.infer<typeof serviceStatus>>

/** @param timeOf makes ISO 8601 of milliseconds since 1970 */
export function showBlocked(
  blocked: readonly Blocked[],
  timeOf: (ms: number) => string,
): ServiceStatus['blocked'] {
  return blocked.map(({ topic, partition, reason, offset, sinceMs }) => ({
    topic,
    partition,
    reason,
    remedy: BLOCK_REASONS[reason],
    offset: offset === null ? null : String(offset),
    since: timeOf(sinceMs),
  }))
}
