import { z } from 'zod'
import { type Held, HOLD_REASONS } from './hold.ts'

/** The partitions of one process that do not go on, as the console shows them. */
export const heldPartitions = z.object({
  items: z.array(
    z.object({
      topic: z.string(),
      partition: z.int(),
      reason: z.string(),
      /** What to do about it. */
      remedy: z.string(),
      /** The first offset that is not processed; null where the topic is missing. */
      offset: z.string().nullable(),
      /** ISO 8601 */
      since: z.string(),
    }),
  ),
})
export type HeldPartitions = Readonly<z.infer<typeof heldPartitions>>

/** @param timeOf makes ISO 8601 of milliseconds since 1970 */
export function showHeld(held: readonly Held[], timeOf: (ms: number) => string): HeldPartitions {
  return {
    items: held.map(({ topic, partition, reason, offset, sinceMs }) => ({
      topic,
      partition,
      reason,
      remedy: HOLD_REASONS[reason],
      offset: offset === null ? null : String(offset),
      since: timeOf(sinceMs),
    })),
  }
}
