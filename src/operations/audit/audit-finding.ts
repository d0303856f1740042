import type { Message } from '../../service/decide/event/message.ts'
import type { TopicPartition } from '../../service/decide/event/position.ts'
import { counted } from '../../service/text/count.ts'
import { printable } from '../../service/text/sanitize.ts'

/** Offsets of a partition; `end` is excluded. */
export interface OffsetRange extends TopicPartition {
  readonly from: bigint
  readonly end: bigint
}

/** The end of a message's transaction; `open` if the log has none. */
export type Fate = 'committed' | 'aborted' | 'open'

/** Part of a partition's log, ordered by offset. */
export type LogPiece =
  | { readonly kind: 'messages'; readonly fate: Fate; readonly messages: readonly Message[] }
  /** Offsets of unreadable record batches, `last` included. */
  | { readonly kind: 'unreadable'; readonly first: bigint; readonly last: bigint; readonly detail: string }
  /** Offsets that retention removed, `last` included. */
  | { readonly kind: 'removed'; readonly first: bigint; readonly last: bigint }

export interface AuditFinding {
  /**
   * `missing`: neither a log row nor a rejected message; `differs`: the row or rejected message disagrees with Kafka;
   * `unreadable`: cannot be compared; `gone`: retention removed it before it was processed. `foreign`, `lost`: see `judgeCommitted`;
   * the offset is the first one that is not processed.
   */
  readonly kind: 'missing' | 'differs' | 'unreadable' | 'gone' | 'foreign' | 'lost'
  readonly topic: string
  readonly partition: number
  readonly offset: string
  readonly last?: string
  readonly eventId?: string
  readonly locator?: string
  readonly detail: string
}

/**
 * The counts of an audit, in words. Each message counts once, but `erased` ones also as rows or rejected messages. Some counts are
 * of offsets, as their words state.
 */
const COUNTED = {
  rows: 'rows that agree with their message',
  duplicates: 'duplicates: the event has a row already',
  rejected: 'kept as rejected messages',
  conflicts: 'kept as rejected messages: another message has the row of their event id',
  tombstones: 'tombstones: messages without a value, which are not events',
  erased: 'of the rows and rejected messages were erased',
  pruned: 'old enough for `prune` to have deleted the row, which cannot be proven',
  skipped: 'skipped by `rejected skip`',
  aborted: 'aborted with their transaction',
  waiting: 'not yet consumed',
  later: 'published after --until, and not judged',
  removed: 'offsets removed by the retention of the broker, which cannot be audited',
  gone: 'FAULT: offsets gone, removed by retention before they were processed',
  unreadable: 'FAULT: offsets of unreadable record batches that were not skipped',
  differs: 'FAULT: the database differs from the message',
  missing: 'FAULT: missing',
  foreign:
    'FAULT: partitions whose offsets another database committed to Kafka: two deployments have one consumer group',
  lost: 'FAULT: messages up to an offset that was committed to Kafka, whose rows the database has lost',
} as const

type CountName = keyof typeof COUNTED
export type Counts = Record<CountName, number>

export function noCounts(): Counts {
  return Object.fromEntries(Object.keys(COUNTED).map((name) => [name, 0])) as Counts
}

export function isSound({ missing, differs, unreadable, gone, foreign, lost }: Counts): boolean {
  return missing + differs + unreadable + gone + foreign + lost === 0
}

export function describeAuditFinding({ kind, topic, partition, offset, last, detail }: AuditFinding): string {
  const upTo = last === undefined || last === offset ? '' : ` to ${last}`
  return printable(`${topic}/${partition}@${offset}${upTo}  ${kind}: ${detail}`)
}

export interface AuditedPartition extends OffsetRange {
  /** The first offset that the broker has. */
  readonly earliest: bigint
  /** The checkpoint at the start of the audit; null if the service never consumed the partition. */
  readonly checkpoint: bigint | null
  /** Messages published later, in ms since 1970, are not judged; null: all are judged. */
  readonly untilMs: number | null
}

export function describePartition({ topic, partition, from, end, checkpoint }: AuditedPartition): string {
  const offsets = from < end ? `offsets ${from} to ${end - 1n}` : 'no offsets'
  return `${topic}/${partition}  ${offsets}, ${checkpoint === null || checkpoint < 0n ? 'nothing processed yet' : `processed up to ${checkpoint}`}`
}

export function countMessages({
  erased,
  unreadable,
  removed,
  gone,
  foreign,
  lost,
  ...messages
}: Counts): number {
  return Object.values(messages).reduce((sum, count) => sum + count, 0)
}

/** The counts for people, one per line. Zeros are left out, except for the rows. */
export function describeAuditCounts(counts: Counts): readonly string[] {
  const lines = Object.entries(COUNTED) as [CountName, string][]
  return [
    `${counted(countMessages(counts), 'message')} read`,
    ...lines
      .filter(([name]) => counts[name] > 0 || name === 'rows')
      .map(([name, words]) => `${String(counts[name]).padStart(10)}  ${words}`),
    isSound(counts) ? 'Every message is accounted for.' : 'Not every message is accounted for.',
  ]
}
