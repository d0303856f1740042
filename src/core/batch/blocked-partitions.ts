import { z } from 'zod'
import { BLOCK_REASONS, type Blocked } from './blocked.ts'

/** The partitions of one process that do not go on, as the console shows them. */
export const blockedPartitions = z.object({
  items: z.array(
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
export type BlockedPartitions = Readonly<z.infer<typeof blockedPartitions>>

/** @param timeOf makes ISO 8601 of milliseconds since 1970 */
export function showBlocked(blocked: readonly Blocked[], timeOf: (ms: number) => string): BlockedPartitions {
  return {
    items: blocked.map(({ topic, partition, reason, offset, sinceMs }) => ({
      topic,
      partition,
      reason,
      remedy: BLOCK_REASONS[reason],
      offset: offset === null ? null : String(offset),
      since: timeOf(sinceMs),
    })),
  }
}
