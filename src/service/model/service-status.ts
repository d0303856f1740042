import { z } from 'zod'
import { BLOCK_REASONS, type Blocked } from './block-reasons.ts'
import { hold } from './request/hold.ts'

/** A replica reports once a minute, and counts as gone this long after its last report. */
export const REPLICA_GONE_MS = 3 * 60_000

const notice = z.object({
  /** Its subject, in a few words that do not change while it lasts. */
  subject: z.string(),
  text: z.string(),
  remedy: z.string(),
  /** Filters that select the log entries concerned. */
  entries: z.record(z.string(), z.string()).optional(),
  /** The resource shared with another program or deployment. */
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

/** Troubles of a replica, shown on the other replicas' consoles. */
export const replicaTroubles = z.object({
  /** Why look-ups fail, or null. */
  lookUps: z.string().nullable(),
  /** Start of the outage in ISO 8601; null if unknown. */
  lookUpsFailSince: z.string().nullable(),
  blocked: z.array(blockedPartition),
})
export type ReplicaTroubles = Readonly<z.infer<typeof replicaTroubles>>

/** State of the service as known to one process, for the console. Each part has the reason why it fails, or null. */
export const serviceStatus = z.object({
  consuming: z.string().nullable(),
  /** True until it is known whether the process consumes. */
  isStarting: z.boolean(),
  database: z.string().nullable(),
  lookUps: z.string().nullable(),
  /** Start of the failures in ISO 8601; null if unknown. Absent from an older replica. */
  lookUpsFailSince: z.string().nullable().optional(),
  /** RETRY_MAX_AGE. Absent from an older replica. */
  retryMaxAgeMs: z.int().optional(),
  /** Totals, each null while unknown. Absent from an older replica. */
  totals: z
    .object({
      /** Messages at the broker that no replica has processed yet. */
      waiting: z.int().nullable(),
      /** Time since which the oldest one waits (ISO 8601); null without one, or if another replica has some of them. */
      waitingSince: z.string().nullable(),
      /** Open rejected messages among the newest 200,000. */
      rejected: z.int().nullable(),
      givenUp: z.int().nullable(),
      /** Failed entries that wait for a retry, up to a limit; the count is at most a minute old. Absent from an older replica. */
      retrying: z.int().nullable().optional(),
    })
    .optional(),
  /** Partitions of all replicas; null while unknown. Absent from an older replica. */
  partitionCount: z.int().nullable().optional(),
  /** The holds in force, oldest first. */
  holds: z
    .array(
      hold.extend({
        /** Events of its topics that have waited since it began; absent while they are counted, null if the broker does not answer. */
        waiting: z.int().nullable().optional(),
      }),
    )
    .readonly(),
  /** The topics of this process. Absent from an older replica. */
  topics: z.array(z.string()).readonly().optional(),
  /** Faults around the process, which stop nothing. */
  notices: z.array(notice).readonly(),
  /** Blocked partitions of all replicas. */
  blocked: z.array(
    blockedPartition.extend({
      /** Messages that wait; null while unknown. */
      waiting: z.int().nullable().optional(),
    }),
  ),
})
export type ServiceStatus = Readonly<z.infer<typeof serviceStatus>>

/**
 * Blocked partitions, without held ones: a hold is no fault.
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
