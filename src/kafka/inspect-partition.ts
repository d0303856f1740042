import type { BlockReason } from '../core/batch/blocked.ts'
import type { TopicPartition } from '../core/batch/topic-partition.ts'
import { type Brokers, READ_COMMITTED } from './brokers.ts'
import { brokerReason, type FetchedBytes } from './patches/fetch-response.ts'
import type { FetchedMessage } from './records/record.ts'
import { findIntact, readRecordSet, recordSetOf } from './records/record-set.ts'
import { UnreadableBatch, withoutEnd } from './records/unreadable.ts'

/** The next thing in a partition from an offset on. */
export type Inspected =
  | { readonly kind: 'end' }
  /** The offset of the next message, or the last of a fetch without any; and the first offset of the batch found. */
  | { readonly kind: 'readable'; readonly offset: bigint; readonly begin: bigint }
  | {
      readonly kind: 'unreadable'
      readonly reason: BlockReason
      readonly detail: string
      /** The last offset of the batch; null where that may be damaged too. */
      readonly last: bigint | null
      /** The first offset of the next intact batch; null where the fetch held none. */
      readonly next: bigint | null
      /** From the batch on, as far as the broker sent them. */
      readonly bytes: Buffer
    }

const FETCH_BYTES = 1024 * 1024
/** More than brokers send at once, so that the batch after a damaged one is seen. */
const FETCH_BYTES_MAX = 64 * FETCH_BYTES
/** The content of a partition from an offset on, as the consumer would read it. */
export function inspectPartition(
  brokers: Brokers,
  partition: TopicPartition,
  from: bigint,
): Promise<Inspected> {
  return inspect((bytesMax) => brokers.fetch({ ...partition, from, bytesMax }, READ_COMMITTED), from)
}

/** The message at an offset, or a phrase that says why there is none. */
export async function readMessage(
  brokers: Brokers,
  partition: TopicPartition,
  offset: bigint,
): Promise<FetchedMessage | string> {
  // The broker sends a whole batch, however few bytes are requested.
  const { error, bytes, aborted } = await brokers.fetch(
    { ...partition, from: offset, bytesMax: 1 },
    READ_COMMITTED,
  )
  if (error === 'OFFSET_OUT_OF_RANGE') return 'the broker no longer has it'
  if (error !== null) return `the broker does not serve its partition: ${error}`
  const set = recordSetOf(bytes, offset, aborted)
  if (set === null) return NOTHING_THERE
  try {
    for await (const [first] of readRecordSet(set)) return first?.offset === offset ? first : NOTHING_THERE
    return NOTHING_THERE
  } catch (cause) {
    if (!(cause instanceof UnreadableBatch)) throw cause
    return `the broker has it in a batch that cannot be read: ${cause.message}`
  }
}

const NOTHING_THERE = 'the broker has no message at its offset any more'

/** @param fetch fetches at most so many bytes from this offset on, or one whole batch */
export async function inspect(
  fetch: (bytesMax: number) => Promise<FetchedBytes>,
  from: bigint,
): Promise<Inspected> {
  for (let bytesMax = FETCH_BYTES; ; bytesMax *= 4) {
    const fetched = await fetch(bytesMax)
    const inspected = await judge(fetched, from)
    const isAll = fetched.bytes.length < bytesMax || bytesMax >= FETCH_BYTES_MAX
    if (isAll || inspected.kind !== 'unreadable' || inspected.next !== null || inspected.last !== null) {
      return inspected
    }
  }
}

async function judge({ error, bytes, aborted }: FetchedBytes, from: bigint): Promise<Inspected> {
  if (error !== null) {
    return { kind: 'unreadable', reason: brokerReason(error), detail: error, last: null, next: null, bytes }
  }
  if (bytes.length === 0) return { kind: 'end' }
  const set = recordSetOf(bytes, from, aborted)
  try {
    if (set === null) throw withoutEnd(from)
    const begin = bytes.readBigInt64BE(0)
    for await (const [first] of readRecordSet(set)) {
      if (first !== undefined) return { kind: 'readable', offset: first.offset, begin }
    }
    return { kind: 'readable', offset: set.lastOffset, begin }
  } catch (cause) {
    if (!(cause instanceof UnreadableBatch)) throw cause
    const { reason, message: detail, offsets } = cause
    // Brokers send a damaged batch for every offset that its header claims, including those of the batches after it.
    const start = findIntact(bytes, (first) => first === from)
    if (start !== null && start.at > 0) {
      return await judge({ error, bytes: bytes.subarray(start.at), aborted }, from)
    }
    const next = findIntact(bytes, (first) => first > from)?.firstOffset ?? null
    const last = reason === 'damaged' ? null : offsets.last
    return { kind: 'unreadable', reason, detail, last, next, bytes: set?.bytes ?? bytes }
  }
}
