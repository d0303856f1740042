import type { Checkpoint, Ends, Fingerprint } from '../decide/event/position.ts'

/**
 * Compares the last processed message with the broker's. Compaction and retention may remove it, but never put anything else in
 * its place, such as the end of a transaction.
 *
 * @param found the first message at or after its offset; null if there is none
 */
export function compareLast(
  processed: Fingerprint,
  found: Fingerprint | 'no message' | null,
): 'same' | 'gone' | 'another' {
  if (found === 'no message') return 'another'
  if (found === null || found.offset !== processed.offset) return 'gone'
  return found.sha256 === processed.sha256 ? 'same' : 'another'
}

export type OutOfRange =
  /** The topic was recreated, as `why` says. */
  | { readonly kind: 'recreated'; readonly why: string }
  /** Retention removed messages; `count` of them were unprocessed. */
  | { readonly kind: 'deleted'; readonly count: bigint; readonly earliest: bigint }
  /** The broker has the offset by now. */
  | { readonly kind: 'passed' }

/** @param knownEarliest the earliest offset when retention had last removed messages after the checkpoint; 0 if it never did */
export function judgeOutOfRange(
  checkpoint: bigint,
  fetchFrom: bigint,
  knownEarliest: bigint,
  { earliest, end }: Ends,
): OutOfRange {
  if (checkpoint >= end) return { kind: 'recreated', why: BEYOND_THE_END }
  if (knownEarliest > end) return { kind: 'recreated', why: BEFORE_THE_BEGINNING }
  if (fetchFrom >= earliest) return { kind: 'passed' }
  const next = checkpoint + 1n
  return { kind: 'deleted', count: next < earliest ? earliest - next : 0n, earliest }
}

const BEYOND_THE_END = 'the checkpoint lies beyond the end of the partition'
const BEFORE_THE_BEGINNING = 'the partition ends before the offset at which it had begun'

export function describeAnother({ offset }: Fingerprint): string {
  return `the message at offset ${offset} is not the one that was processed`
}

/**
 * Says what shows that the topic was recreated since its last message was processed; null if nothing does.
 *
 * @param found the broker's message at the offset of that one; null if there is none, or if it is unknown
 */
export function judgeRecreated(
  { offset, lastMessage }: Checkpoint,
  { end }: Pick<Ends, 'end'>,
  found: Fingerprint | null,
): string | null {
  if (offset >= end) return BEYOND_THE_END
  return lastMessage !== null && compareLast(lastMessage, found) === 'another'
    ? describeAnother(lastMessage)
    : null
}
