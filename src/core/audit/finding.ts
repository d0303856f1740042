import type { TopicPartition } from '../batch/topic-partition.ts'
import { counted } from '../text/count.ts'
import { printable } from '../text/sanitize.ts'
import type { OffsetRange } from './log-piece.ts'

interface Position extends TopicPartition {
  readonly offset: string
}

type EventNames = { readonly eventId: string; readonly eventType: string }

/** What an audit reports of one message or record batch. All but a duplicate is a fault. */
export type Finding =
  /** An event with neither a log row nor anything that explains why. */
  | (Position & { readonly kind: 'missing' } & EventNames)
  /** A message that is not a valid event, and that was not kept as rejected. */
  | (Position & { readonly kind: 'not-kept'; readonly reason: string })
  | (Position & { readonly kind: 'disagrees'; readonly locator: string } & EventNames & {
        readonly differences: readonly Difference[]
      })
  /** A message was processed although its transaction was aborted. `locator`: of its row; null: it was rejected. */
  | (Position & { readonly kind: 'aborted'; readonly locator: string | null })
  /** The checkpoint is beyond a message, though the log holds no end of its transaction. */
  | (Position & { readonly kind: 'undecided' })
  /** At the offset of the message that was processed last the log has another one: the topic was created anew. */
  | (Position & { readonly kind: 'another-log' })
  /** The log holds nothing between these offsets, both included, and compaction did not remove it. */
  | (Position & { readonly kind: 'gap'; readonly last: string })
  /** The event has a row, but no decision tells of which message. */
  | (Position & { readonly kind: 'unexplained'; readonly eventId: string; readonly locator: string })
  /** The checkpoint, which is the offset, lies beyond the end of the log: the log was cut off, or the topic created anew. */
  | (Position & { readonly kind: 'beyond-end'; readonly end: string })
  | (Position & { readonly kind: 'unreadable'; readonly last: string; readonly detail: string })
  | (Position & {
      readonly kind: 'duplicate'
      readonly eventId: string
      readonly locator: string
      readonly of: Position
    })

export interface Difference {
  readonly column: 'event_type' | 'party_locator'
  readonly stored: string | null
  readonly published: string | null
}

/** Each message counts once, as one of the first twelve. */
export interface Counts {
  rows: number
  duplicates: number
  rejected: number
  pruned: number
  skipped: number
  aborted: number
  waiting: number
  missing: number
  /** Has a row or is kept as rejected, although its transaction was aborted. */
  unexpected: number
  undecided: number
  /** Of events whose row no decision explains: whether it came from this message, nobody can tell. */
  unexplained: number
  /** Published after the time up to which messages are judged. */
  later: number
  /** Of the rows and rejected messages, the ones that were erased. */
  erased: number
  /** Of the rows and duplicates, the ones whose row says something else. */
  disagreeing: number
  /** Offsets of record batches that cannot be read and that nobody skipped. */
  unreadable: number
  /** Offsets that retention has removed; of these, the ones beyond the checkpoint. */
  removed: number
  removedUnread: number
  /** Checkpoints that lie beyond the end of their partition. */
  beyondEnd: number
  /** Checkpoints of another log: nothing of this one is known to be processed. */
  anotherLog: number
  /** Records that are no messages, such as the end of a transaction. */
  control: number
  /** Offsets without a record: compaction removed it. */
  absent: number
  /** Offsets without a record, of a topic that is not compacted as far as is known. */
  lost: number
}

export function noCounts(): Counts {
  return {
    rows: 0,
    duplicates: 0,
    rejected: 0,
    pruned: 0,
    skipped: 0,
    aborted: 0,
    waiting: 0,
    missing: 0,
    unexpected: 0,
    undecided: 0,
    unexplained: 0,
    later: 0,
    erased: 0,
    disagreeing: 0,
    unreadable: 0,
    removed: 0,
    removedUnread: 0,
    beyondEnd: 0,
    anotherLog: 0,
    control: 0,
    absent: 0,
    lost: 0,
  }
}

const FAULTS: readonly (keyof Counts)[] = [
  'missing',
  'unexpected',
  'undecided',
  'unexplained',
  'disagreeing',
  'unreadable',
  'removedUnread',
  'beyondEnd',
  'anotherLog',
  'lost',
]

/** Whether all that was read is accounted for. */
export function isSound(counts: Counts): boolean {
  return FAULTS.every((name) => counts[name] === 0)
}

/** A finding in words. */
export function describeFinding(finding: Finding): string {
  return printable(`${finding.topic}/${finding.partition}@${finding.offset}  ${wordsOf(finding)}`)
}

function wordsOf(finding: Finding): string {
  switch (finding.kind) {
    case 'missing':
      return `missing: event ${quote(finding.eventId)} of type ${quote(finding.eventType)} has no row`
    case 'not-kept':
      return `missing: not a valid event (${finding.reason}), but not stored as a rejected message`
    case 'disagrees':
      return `disagrees: event ${quote(finding.eventId)}, ${finding.locator}: ${finding.differences.map(differenceOf).join(', ')}`
    case 'aborted':
      return `aborted: its transaction was aborted, but ${finding.locator === null ? 'it is a rejected message' : `${finding.locator} is its row`}`
    case 'undecided':
      return 'undecided: the checkpoint is beyond it, but no end of its transaction can be read'
    case 'beyond-end':
      return `the checkpoint ${finding.offset} lies beyond the end ${finding.end}: the log was cut off, or the topic was created anew and not consumed since`
    case 'unreadable':
      return `unreadable up to offset ${finding.last}: ${finding.detail}`
    case 'duplicate':
      return `duplicate: event ${quote(finding.eventId)} is logged as ${finding.locator}, ${originOf(finding.of)}`
    case 'another-log':
      return 'the message at this offset is not the one that was processed: the topic was created anew; audit it once `serve` has consumed it'
    case 'gap':
      return `no record up to offset ${finding.last}, though the topic is not compacted as far as the broker tells`
    case 'unexplained':
      return `unexplained: event ${quote(finding.eventId)} is logged as ${finding.locator}, but no decision tells from which message`
    default:
      return finding satisfies never
  }
}

function originOf({ topic, partition, offset }: Position): string {
  return `from ${topic}/${partition}@${offset}`
}

function differenceOf({ column, stored, published }: Difference): string {
  return `${column} is ${quote(stored)}, but the message says ${quote(published)}`
}

function quote(value: string | null): string {
  return JSON.stringify(value)
}

/** What was audited of a partition: `from` to before `end`, of what the broker holds from `earliest` on. */
export interface AuditedPartition extends OffsetRange {
  readonly earliest: bigint
  /** Behind its last record. */
  readonly logEnd: bigint
  /** When the audit began, wherever it lies; null: the service never was there; -1: it was, and processed nothing. */
  readonly checkpoint: bigint | null
  /** Where the log has another message in place of the one that was processed last; null: it has not, as far as is known. */
  readonly anotherAt: bigint | null
  /** Messages that are known to be published after this are not judged; ms since 1970, null: all are judged. */
  readonly untilMs: number | null
}

export function describePartition({ topic, partition, from, end, checkpoint }: AuditedPartition): string {
  const offsets = from < end ? `offsets ${from} to ${end - 1n}` : 'no offsets'
  return `${topic}/${partition}  ${offsets}, ${checkpoint === null || checkpoint < 0n ? 'nothing processed yet' : `processed up to ${checkpoint}`}`
}

const MESSAGES: readonly (keyof Counts)[] = [
  'rows',
  'duplicates',
  'rejected',
  'pruned',
  'skipped',
  'aborted',
  'waiting',
  'missing',
  'unexpected',
  'undecided',
  'unexplained',
  'later',
]

/** How many messages were read. */
export function messageCountOf(counts: Counts): number {
  return MESSAGES.reduce((sum, name) => sum + counts[name], 0)
}

/** The counts in words, a line each; those that are zero are left out, but for the first and the last. */
export function describeCounts(counts: Counts): readonly string[] {
  const lines: readonly (readonly [number, string])[] = [
    [counts.duplicates, 'duplicates: the event has a row already'],
    [counts.rejected, 'rejected: kept as rejected messages'],
    [counts.erased, 'of the rows and rejected messages were erased'],
    [counts.pruned, 'pruned: old enough for `prune` to have deleted the row, which cannot be proven'],
    [counts.skipped, 'skipped by `rejected skip`'],
    [counts.aborted, 'aborted with their transaction'],
    [counts.waiting, 'not yet consumed'],
    [counts.later, 'published after --until, and not judged'],
    [counts.removed, 'offsets removed by the retention of the broker, which cannot be audited'],
    [counts.absent, 'offsets without a record, removed by compaction'],
    [counts.control, 'ends of transactions, which are not messages'],
    [counts.disagreeing, 'FAULT: the row disagrees with the message'],
    [counts.unexpected, 'FAULT: processed, although their transaction was aborted'],
    [counts.unexplained, 'FAULT: the event has a row, but no decision tells from which message'],
    [counts.undecided, 'FAULT: no end of their transaction can be read'],
    [counts.unreadable, 'FAULT: offsets that cannot be read and were not skipped'],
    [counts.removedUnread, 'FAULT: offsets that retention removed before they were processed'],
    [counts.lost, 'FAULT: offsets without a record, on a topic that is not compacted'],
    [counts.anotherLog, 'FAULT: checkpoints of another log: the topic was created anew'],
    [counts.beyondEnd, 'FAULT: checkpoints beyond the end of their partition'],
    [counts.missing, 'FAULT: missing'],
  ]
  const shown = lines.filter(([count]) => count > 0)
  return [
    `${counted(messageCountOf(counts), 'message')} read`,
    ...[[counts.rows, 'rows that agree with the message or are listed above'] as const, ...shown].map(
      ([count, words]) => `${String(count).padStart(10)}  ${words}`,
    ),
    isSound(counts) ? 'Every message is accounted for.' : 'Not every message is accounted for.',
  ]
}
