import type { TopicPartition } from '../decide/event/position.ts'
import { BLOCK_REASONS, type BlockReason } from '../model/block-reasons.ts'
import type { Brokers } from './brokers.ts'
import { brokerReason, type FetchedBytes, READ_COMMITTED } from './fetch-request.ts'
import { afterDamage, findIntact } from './records/batches.ts'
import { findRecordSet, readRecordSet } from './records/record-set.ts'
import { UnreadableBatch, withoutEnd } from './records/unreadable.ts'

export type Inspection =
  | { readonly kind: 'end' }
  /** The offset of the next message, or the last offset of a fetch without messages, and the first offset of the first batch. */
  | { readonly kind: 'readable'; readonly offset: bigint; readonly begin: bigint }
  | {
      readonly kind: 'unreadable'
      readonly reason: BlockReason
      readonly detail: string
      readonly last: bigint | null
      /** The first offset of the next intact batch; null if the fetch contains none. */
      readonly next: bigint | null
      /** The batch, and the bytes that the broker sent after it. */
      readonly bytes: Buffer
    }

const FETCH_BYTES = 1024 * 1024
/** More than brokers send at once, so that the batch after a damaged one is found. */
const FETCH_BYTES_MAX = 64 * FETCH_BYTES

/** Finds what the consumer would read of a partition from an offset on. */
export function inspectPartition(
  brokers: Brokers,
  partition: TopicPartition,
  from: bigint,
): Promise<Inspection> {
  return inspect((bytesMax) => brokers.fetch({ ...partition, from, bytesMax }, READ_COMMITTED), from)
}

/** @param fetchBytes fetches at most this many bytes from that offset on, or one whole batch */
export async function inspect(
  fetchBytes: (bytesMax: number) => Promise<FetchedBytes>,
  from: bigint,
): Promise<Inspection> {
  for (let bytesMax = FETCH_BYTES; ; bytesMax *= 4) {
    const fetched = await fetchBytes(bytesMax)
    const inspected = await judge(fetched, from)
    const isAll = fetched.bytes.length < bytesMax || bytesMax >= FETCH_BYTES_MAX
    if (isAll || inspected.kind !== 'unreadable' || inspected.next !== null || inspected.last !== null) {
      return inspected
    }
  }
}

async function judge(fetched: FetchedBytes, from: bigint): Promise<Inspection> {
  const { error, aborted } = fetched
  if (error !== null) {
    const reason = brokerReason(error)
    return { kind: 'unreadable', reason, detail: error, last: null, next: null, bytes: fetched.bytes }
  }
  if (fetched.bytes.length === 0) return { kind: 'end' }
  const bytes = afterDamage(fetched.bytes, from)
  const set = findRecordSet(bytes, from, aborted)
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
    const next = findIntact(bytes, (first) => first > from)?.firstOffset ?? null
    const last = BLOCK_REASONS[reason].isLengthTrusted ? offsets.last : null
    return { kind: 'unreadable', reason, detail, last, next, bytes: set?.bytes ?? bytes }
  }
}
