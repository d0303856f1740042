import type { TopicPartition } from '../batch/topic-partition.ts'
import type { Message } from '../event/message.ts'
import { counted } from '../text/count.ts'
import { printable } from '../text/sanitize.ts'

/** Offsets of a partition, without `end`. */
export interface OffsetRange extends TopicPartition {
  readonly from: bigint
  readonly end: bigint
}

/** The end of a message's transaction; `open` where the log holds none. */
export type Fate = 'committed' | 'aborted' | 'open'

/** Part of a partition's log, in the order of the offsets. */
export type LogPiece =
  | { readonly kind: 'messages'; readonly fate: Fate; readonly messages: readonly Message[] }
  /** Record batches that cannot be read, and their offsets, `last` included. */
  | { readonly kind: 'unreadable'; readonly first: bigint; readonly last: bigint; readonly detail: string }
  /** Offsets that retention removed, `last` included. */
  | { readonly kind: 'removed'; readonly first: bigint; readonly last: bigint }

export interface Finding {
  /**
   * `missing`: neither a log row nor a rejected message. `differs`: the database says something else than the log.
   * `unreadable`: nobody can tell. `gone`: retention removed it before it was processed.
   */
  readonly kind: 'missing' | 'differs' | 'unreadable' | 'gone'
  readonly topic: string
  readonly partition: number
  readonly offset: string
  /** The last of several offsets. */
  readonly last?: string
  readonly eventId?: string
  readonly locator?: string
  readonly detail: string
}

/** Each message counts once, except that `erased` are part of the rows and rejected messages. */
export interface Counts {
  rows: number
  duplicates: number
  rejected: number
  /** Messages without a value, which are no events. */
  tombstones: number
  erased: number
  pruned: number
  skipped: number
  aborted: number
  waiting: number
  /** Published after the time up to which messages are judged. */
  later: number
  missing: number
  differs: number
  /** Offsets. */
  unreadable: number
  /** Offsets that retention removed once they were processed. */
  removed: number
  /** Offsets that retention removed before they were processed. */
  gone: number
}

export function noCounts(): Counts {
  return {
    rows: 0,
    duplicates: 0,
    rejected: 0,
    tombstones: 0,
    erased: 0,
    pruned: 0,
    skipped: 0,
    aborted: 0,
    waiting: 0,
    later: 0,
    missing: 0,
    differs: 0,
    unreadable: 0,
    removed: 0,
    gone: 0,
  }
}

export function isSound({ missing, differs, unreadable, gone }: Counts): boolean {
  return missing + differs + unreadable + gone === 0
}

export function describeFinding({ kind, topic, partition, offset, last, detail }: Finding): string {
  const upTo = last === undefined || last === offset ? '' : ` to ${last}`
  return printable(`${topic}/${partition}@${offset}${upTo}  ${kind}: ${detail}`)
}

export interface AuditedPartition extends OffsetRange {
  /** The first offset that the broker has. */
  readonly earliest: bigint
  /** The offset after the last record. */
  readonly logEnd: bigint
  /** When the audit began; null where the service never consumed the partition. */
  readonly checkpoint: bigint | null
  /** Messages published after this, in ms since 1970, are not judged; null: all are. */
  readonly untilMs: number | null
}

export function describePartition({ topic, partition, from, end, checkpoint }: AuditedPartition): string {
  const offsets = from < end ? `offsets ${from} to ${end - 1n}` : 'no offsets'
  return `${topic}/${partition}  ${offsets}, ${checkpoint === null || checkpoint < 0n ? 'nothing processed yet' : `processed up to ${checkpoint}`}`
}

export function messageCountOf({ erased, unreadable, removed, gone, ...messages }: Counts): number {
  return Object.values(messages).reduce((sum, count) => sum + count, 0)
}

/** The counts for people, one line each; zeros are left out, except for the rows. */
export function describeCounts(counts: Counts): readonly string[] {
  const lines: readonly (readonly [number, string])[] = [
    [counts.rows, 'rows that agree with their message'],
    [counts.duplicates, 'duplicates: the event has a row already'],
    [counts.rejected, 'kept as rejected messages'],
    [counts.tombstones, 'tombstones: messages without a value, which are no events'],
    [counts.erased, 'of the rows and rejected messages were erased'],
    [counts.pruned, 'old enough for `prune` to have deleted the row, which cannot be proven'],
    [counts.skipped, 'skipped by `rejected skip`'],
    [counts.aborted, 'aborted with their transaction'],
    [counts.waiting, 'not yet consumed'],
    [counts.later, 'published after --until, and not judged'],
    [counts.removed, 'offsets removed by the retention of the broker, which cannot be audited'],
    [counts.gone, 'FAULT: offsets gone, removed by retention before they were processed'],
    [counts.unreadable, 'FAULT: offsets unreadable and not skipped'],
    [counts.differs, 'FAULT: the database differs from the message'],
    [counts.missing, 'FAULT: missing'],
  ]
  return [
    `${counted(messageCountOf(counts), 'message')} read`,
    ...lines
      .filter(([count], i) => count > 0 || i === 0)
      .map(([count, words]) => `${String(count).padStart(10)}  ${words}`),
    isSound(counts) ? 'Every message is accounted for.' : 'Not every message is accounted for.',
  ]
}
