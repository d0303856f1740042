import { type AbortedTransaction, createAbortedFilter } from './aborted-transactions.ts'
import {
  BASE_TIMESTAMP_AT,
  type BatchHeader,
  HEADER_BYTES,
  isIntact,
  LENGTH_END,
  lastOffsetOf,
  MAGIC_AT,
  readBatchHeader,
} from './batch-header.ts'
import { Cursor } from './cursor.ts'
import { type FetchedMessage, readRecord } from './record.ts'
import { tooLarge, UNPACKED_BYTES_MAX, unpack } from './unpack.ts'
import { Malformed, UnreadableBatch } from './unreadable.ts'

/** The undecoded result of one fetch of a partition. */
export interface RecordSet {
  /** The requested offset; the first batch may begin before it. */
  readonly firstOffset: bigint
  /** Of its last complete batch, of whatever kind. */
  readonly lastOffset: bigint
  /** Of its first batch, in ms since 1970. */
  readonly firstTimestampMs: bigint
  /** Record batches one after the other. */
  readonly bytes: Buffer
  readonly aborted: readonly AbortedTransaction[]
}

/** The record format since Kafka 0.11. */
export const MAGIC = 2
/** An entry of an older format, which is not read, may be smaller than a batch's header. */
const OLD_ENTRY_BYTES_MIN = 26
/** Bounds the memory and the time that a batch of very many small records takes at once. */
const YIELD_COUNT_MAX = 250

/**
 * The record set of these bytes, whose last batch may be cut off. Null where not even the first is complete. It ends with a
 * batch whose header is not valid: reading it throws.
 */
export function recordSetOf(
  bytes: Buffer,
  firstOffset: bigint,
  aborted: readonly AbortedTransaction[],
): RecordSet | null {
  const firstTimestampMs = bytes.length < HEADER_BYTES ? -1n : bytes.readBigInt64BE(BASE_TIMESTAMP_AT)
  let lastOffset = firstOffset - 1n
  let end = 0
  for (const batch of batchesOf(bytes)) {
    end += batch.length
    const last = offsetsOf(batch)?.last
    if (last === undefined)
      return { firstOffset, lastOffset: lastOffset + 1n, firstTimestampMs, bytes, aborted }
    if (last > lastOffset) lastOffset = last
  }
  if (lastOffset < firstOffset) return null
  return { firstOffset, lastOffset, firstTimestampMs, bytes: bytes.subarray(0, end), aborted }
}

/**
 * Yields the messages from `firstOffset` on, without those of aborted transactions, decoded as they are taken, some at a time.
 * Throws `UnreadableBatch` after all messages before that batch.
 */
export async function* readRecordSet(set: RecordSet): AsyncGenerator<readonly FetchedMessage[]> {
  const aborted = createAbortedFilter(set.aborted)
  let expected = set.firstOffset
  for (const batch of batchesOf(set.bytes)) {
    try {
      const header = requireHeader(batch)
      requireNext(header, expected, set.firstOffset)
      expected = header.lastOffset + 1n
      const isAborted = aborted.isAborted(header)
      if (isAborted && !header.isControl) continue
      for await (const messages of decodeRecords(batch, header)) {
        const wanted = messages.filter(({ offset }) => offset >= set.firstOffset)
        if (header.isControl) aborted.endTransaction(header, messages[0]?.key ?? null)
        else if (wanted.length > 0) yield wanted
      }
    } catch (error) {
      if (!(error instanceof Malformed)) throw error
      const offsets = offsetsOf(batch) ?? { first: set.firstOffset, last: set.lastOffset }
      throw new UnreadableBatch(error.reason, error.message, offsets)
    }
  }
}

/**
 * Throws `Malformed` where a batch does not follow the one before it; the first may begin before `from`. The checksum does not
 * cover the first offset: with a damaged one, a batch would be taken for one that was read before.
 */
export function requireNext({ baseOffset, lastOffset }: BatchHeader, expected: bigint, from: bigint): void {
  if (lastOffset < expected || (baseOffset < expected && expected > from))
    throw new Malformed('its offsets do not follow those before it', 'damaged')
}

/**
 * Finds the first intact batch whose first offset is wanted; null where there is none. It looks at every byte, since the length
 * of a damaged batch may be damaged too.
 */
export function findIntact(
  bytes: Buffer,
  isWanted: (firstOffset: bigint) => boolean,
): { at: number; firstOffset: bigint } | null {
  for (let at = 0; at + HEADER_BYTES <= bytes.length; at++) {
    if (bytes[at + MAGIC_AT] !== MAGIC) continue
    const firstOffset = bytes.readBigInt64BE(at)
    const batch = bytes.subarray(at, at + LENGTH_END + bytes.readInt32BE(at + LENGTH_END - 4))
    if (batch.length < HEADER_BYTES || !isWanted(firstOffset)) continue
    if (offsetsOf(batch) !== null && isIntact(batch)) return { at, firstOffset }
  }
  return null
}

/** Yields each complete batch, and the rest as one where a length is not valid. */
export function* batchesOf(bytes: Buffer): Generator<Buffer> {
  for (let at = 0; at + OLD_ENTRY_BYTES_MIN <= bytes.length; ) {
    const length = bytes.readInt32BE(at + LENGTH_END - 4)
    const end = at + LENGTH_END + length
    if (length < OLD_ENTRY_BYTES_MIN - LENGTH_END) {
      yield bytes.subarray(at)
      return
    }
    // Cut off by the size that was asked for.
    if (end > bytes.length) return
    yield bytes.subarray(at, end)
    at = end
  }
}

/** Null where the header is not valid. */
export function offsetsOf(batch: Buffer): { first: bigint; last: bigint } | null {
  const first = batch.readBigInt64BE(0)
  const magic = batch.readInt8(MAGIC_AT)
  const isWhole = batch.readInt32BE(LENGTH_END - 4) === batch.length - LENGTH_END
  if (!isWhole || first < 0n) return null
  if (magic === 0 || magic === 1) return { first, last: first }
  if (magic !== MAGIC || batch.length < HEADER_BYTES) return null
  const last = lastOffsetOf(batch)
  return last < first ? null : { first, last }
}

/** The header of a batch that can be decoded. Throws `Malformed` for any other. */
export function requireHeader(batch: Buffer): BatchHeader {
  if (offsetsOf(batch) === null) throw new Malformed('its header is not valid', 'damaged')
  // No broker since 4.0 holds messages of that age.
  if (batch.readInt8(MAGIC_AT) !== MAGIC)
    throw new Malformed('its record format is older than Kafka 0.11, which is not read')
  if (!isIntact(batch)) throw new Malformed('its checksum is wrong', 'damaged')
  return readBatchHeader(batch)
}

/** Yields the messages of a batch, some at a time. Throws `Malformed`. */
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
        if (message.offset <= previous) throw new Malformed('its offsets do not ascend')
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
    if (leftCount === 0 && rest.length > 0) throw new Malformed('it goes on after its last record')
    waiting = rest.length > 0 ? [rest] : []
    waitingBytes = rest.length
  }
  if (leftCount > 0) throw new Malformed(`it ends ${leftCount} records early`)
}

/** Bytes of the next record with its length; of the length alone where that is incomplete. */
function bytesOfNext({ bytes, at }: Cursor): number {
  let lengthBytes = 1
  while (lengthBytes < 5 && (bytes[at + lengthBytes - 1] ?? 0) >= 0x80) lengthBytes++
  if (at + lengthBytes > bytes.length) return lengthBytes
  const length = new Cursor(bytes, at).varint()
  if (length < 0) throw new Malformed('a record in it has a negative length')
  if (length > UNPACKED_BYTES_MAX) throw tooLarge()
  return lengthBytes + length
}
