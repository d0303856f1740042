import { z } from 'zod'
import { BLOCK_REASONS, type Blocked } from './block-reasons.ts'
import { hold } from './request/hold.ts'

const notice = z.object({
  /** Its subject, in a few words that stay the same while it lasts. */
  subject: z.string(),
  text: z.string(),
  remedy: z.string(),
  /** The log entries that it is about, by filters of the log. */
  entries: z.record(z.string(), z.string()).optional(),
  /** The resource that another program or deployment uses, too. */
  shares: z.enum(['database', 'consumer_group']).optional(),
})
export type Notice = Readonly<z.infer<typeof notice>>

const blockedPartition = z.object({
  topic: z.string(),
  partition: z.int(),
  reason: z.string(),
  remedy: z.string(),
  isSkippable: z.boolean(),
  /** The first unprocessed offset; null if the topic is missing. */
  offset: z.string().nullable(),
  /** ISO 8601. */
  since: z.string(),
})

/** What stops a replica. It tells the others, whose consoles show it. */
export const replicaTroubles = z.object({
  /** Why look-ups fail, or null. */
  lookUps: z.string().nullable(),
  /** Since when (ISO 8601); null if that is not known. */
  lookUpsFailSince: z.string().nullable(),
  blocked: z.array(blockedPartition),
})
export type ReplicaTroubles = Readonly<z.infer<typeof replicaTroubles>>

/** State of the service as one process knows it, for the console: a reason for each part, or null if it works. */
export const serviceStatus = z.object({
  consuming: z.string().nullable(),
  /** True until it is known whether the process consumes. */
  isStarting: z.boolean(),
  database: z.string().nullable(),
  lookUps: z.string().nullable(),
  /** Since when they fail (ISO 8601); null if that is not known. Absent from a replica of a version before. */
  lookUpsFailSince: z.string().nullable().optional(),
  /** RETRY_MAX_AGE. Absent from a replica of a version before. */
  retryMaxAgeMs: z.int().optional(),
  /** Totals, each null while it is not known; absent from a replica of a version before. */
  totals: z
    .object({
      /** Messages at the broker that no replica has processed yet. */
      waiting: z.int().nullable(),
      /** Since when the oldest of them waits (ISO 8601); null if there is none, or another replica has some of them. */
      waitingSince: z.string().nullable(),
      /** Open rejected messages among the newest 200,000. */
      rejected: z.int().nullable(),
      givenUp: z.int().nullable(),
      /** Failed entries that wait for a retry, up to a limit; at most a minute old. Absent from a replica of a version before. */
      retrying: z.int().nullable().optional(),
    })
    .optional(),
  /** Partitions of all replicas; null while that is not known. Absent from a replica of a version before. */
  partitionCount: z.int().nullable().optional(),
  /** The holds in force, oldest first. */
  holds: z
    .array(
      hold.extend({
        /** Events of its topics that wait, counted since it began; absent while they are counted, null if the broker does not answer. */
        waiting: z.int().nullable().optional(),
      }),
    )
    .readonly(),
  /** The topics of this process. Absent from a replica of a version before. */
  topics: z.array(z.string()).readonly().optional(),
  /** Faults around the process, which stop nothing. */
  notices: z.array(notice).readonly(),
  /** Of all replicas. */
  blocked: z.array(
    blockedPartition.extend({
      /** Messages that wait; null while that is not known. */
      waiting: z.int().nullable().optional(),
    }),
  ),
})
export type ServiceStatus = Readonly<z.infer<typeof serviceStatus>>

/**
 * Partitions that cannot go on. A hold is no fault, and stands for itself.
 *
 * @param toIso converts milliseconds since 1970 to ISO 8601
 */
export function showBlocked(
  blocked: readonly Blocked[],
  toIso: (ms: number) => string,
): ReplicaTroubles['blocked'] {
  const faults = blocked.filter(({ reason }) => reason !== 'held')
  return faults.map(({ topic, partition, reason, offset, sinceMs }) => ({
    topic,
    partition,
    reason,
    remedy: BLOCK_REASONS[reason].remedy,
    isSkippable: BLOCK_REASONS[reason].isSkippable === true,
    offset: offset === null ? null : String(offset),
    since: toIso(sinceMs),
  }))
}
