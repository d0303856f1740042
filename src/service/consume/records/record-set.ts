import { type AbortedTransaction, createAbortedFilter } from './aborted-transactions.ts'
import {
  BASE_TIMESTAMP_AT,
  type BatchHeader,
  HEADER_BYTES,
  readOffsets,
  requireHeader,
  requireInOrder,
  splitBatches,
} from './batches.ts'
import { Cursor } from './cursor.ts'
import { type FetchedMessage, readRecord } from './record.ts'
import { tooLarge, UNPACKED_BYTES_MAX, unpack } from './unpack.ts'
import { MalformedBatch, UnreadableBatch } from './unreadable.ts'

export interface RecordSet {
  /** The requested offset; the first batch may begin before it. */
  readonly firstOffset: bigint
  /** The last offset of the last complete batch of any kind. */
  readonly lastOffset: bigint
  /** The time of the first batch, in ms since 1970. */
  readonly firstTimestampMs: bigint
  readonly bytes: Buffer
  readonly aborted: readonly AbortedTransaction[]
}

/** Limits the memory and time for a batch of many small records. */
const YIELD_COUNT_MAX = 250

/**
 * The record set of these bytes, whose last batch may be cut off; null if even the first is incomplete. The set ends with the first
 * batch whose header is invalid; reading that batch throws.
 */
export function findRecordSet(
  bytes: Buffer,
  firstOffset: bigint,
  aborted: readonly AbortedTransaction[],
): RecordSet | null {
  const firstTimestampMs = bytes.length < HEADER_BYTES ? -1n : bytes.readBigInt64BE(BASE_TIMESTAMP_AT)
  const batches = [...splitBatches(bytes)]
  let lastOffset = firstOffset - 1n
  let end = 0
  for (const [index, batch] of batches.entries()) {
    const offsets = readOffsets(batch)
    // The set must cover the next offset, so that reading it meets this batch: after batches up to 7 it ends with 8.
    if (offsets === null)
      return { firstOffset, lastOffset: lastOffset + 1n, firstTimestampMs, bytes, aborted }
    // After a gap, as compaction leaves it, only the batch behind this one shows that its offset is not damaged. The next fetch
    // begins with this batch, and brings the one behind it.
    const isLast = index === batches.length - 1
    if (isLast && lastOffset >= firstOffset && offsets.first > lastOffset + 1n) break
    end += batch.length
    if (offsets.last > lastOffset) lastOffset = offsets.last
  }
  if (lastOffset < firstOffset) return null
  return { firstOffset, lastOffset, firstTimestampMs, bytes: bytes.subarray(0, end), aborted }
}

/**
 * Yields the messages from `firstOffset` on, without those of aborted transactions, a few at a time and decoded on demand. Throws
 * `UnreadableBatch` after all messages before that batch.
 */
export async function* readRecordSet(set: RecordSet): AsyncGenerator<readonly FetchedMessage[]> {
  const aborted = createAbortedFilter(set.aborted)
  let expected = set.firstOffset
  const batches = [...splitBatches(set.bytes)]
  for (const [index, batch] of batches.entries()) {
    try {
      const header = requireInOrder(batch, batches[index + 1], expected, set.firstOffset)
      expected = header.lastOffset + 1n
      const isAborted = aborted.isAborted(header)
      if (isAborted && !header.isControl) continue
      for await (const messages of decodeRecords(batch, header)) {
        const wanted = messages.filter(({ offset }) => offset >= set.firstOffset)
        if (header.isControl) aborted.endTransaction(header, messages[0]?.key ?? null)
        else if (wanted.length > 0) yield wanted
      }
    } catch (error) {
      if (!(error instanceof MalformedBatch)) throw error
      const offsets = readOffsets(batch) ?? { first: set.firstOffset, last: set.lastOffset }
      throw new UnreadableBatch(error.reason, error.message, offsets)
    }
  }
}

/** Yields the messages of a batch, a few at a time. Throws `MalformedBatch`. */
export async function* decodeRecords(batch: Buffer, header: BatchHeader): AsyncGenerator<FetchedMessage[]> {
  let leftCount = header.recordCount
  let previous = header.baseOffset - 1n
  let waiting: Buffer[] = []
  let waitingBytes = 0
  let neededBytes = 1
  for await (const piece of unpack(header.codec, batch.subarray(HEADER_BYTES))) {
    waiting.push(piece)
    waitingBytes += piece.length
    if (waitingBytes < neededBytes) continue
    const cursor = new Cursor(waiting.length === 1 ? piece : Buffer.concat(waiting, waitingBytes))
    let messages: FetchedMessage[] = []
    for (; leftCount > 0; leftCount--) {
      neededBytes = bytesOfNext(cursor)
      if (cursor.at + neededBytes > cursor.bytes.length) break
      try {
        const message = readRecord(cursor.slice(cursor.varint()) as Buffer, header)
        if (message.offset <= previous) throw new MalformedBatch('its offsets do not ascend')
        previous = message.offset
        messages.push(message)
      } catch (error) {
        if (messages.length > 0) yield messages
        throw error
      }
      if (messages.length === YIELD_COUNT_MAX) {
        yield messages
        messages = []
      }
    }
    if (messages.length > 0) yield messages
    const rest = cursor.bytes.subarray(cursor.at)
    if (leftCount === 0 && rest.length > 0) throw new MalformedBatch('it has bytes after its last record')
    waiting = rest.length > 0 ? [rest] : []
    waitingBytes = rest.length
  }
  if (leftCount > 0) throw new MalformedBatch(`it ends ${leftCount} records early`)
}

/** Size of the next record with its length; of the length alone if that is incomplete. */
function bytesOfNext({ bytes, at }: Cursor): number {
  let lengthBytes = 1
  while (lengthBytes < 5 && (bytes[at + lengthBytes - 1] ?? 0) >= 0x80) lengthBytes++
  if (at + lengthBytes > bytes.length) return lengthBytes
  const length = new Cursor(bytes, at).varint()
  if (length < 0) throw new MalformedBatch('a record in it has a negative length')
  if (length > UNPACKED_BYTES_MAX) throw tooLarge()
  return lengthBytes + length
}

/** True if the broker's record at this offset never was a message: a transaction marker, or part of an aborted transaction. */
export function holdsNoMessageAt({ bytes, firstOffset, aborted }: RecordSet, offset: bigint): boolean {
  const [batch] = splitBatches(bytes)
  if (batch === undefined || firstOffset !== offset) return false
  try {
    const header = requireHeader(batch)
    if (header.baseOffset > offset || header.lastOffset < offset) return false
    return header.isControl || createAbortedFilter(aborted).isAborted(header)
  } catch (error) {
    if (error instanceof MalformedBatch) return false
    throw error
  }
}
