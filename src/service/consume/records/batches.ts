import crc32c from 'kafkajs/src/protocol/recordBatch/crc32C/index.js'
import { MalformedBatch } from './unreadable.ts'

/** The header of a record batch (https://kafka.apache.org/documentation/#recordbatch). */
export interface BatchHeader {
  readonly baseOffset: bigint
  /** Includes the offsets of records that compaction removed. */
  readonly lastOffset: bigint
  readonly lastOffsetDelta: number
  readonly baseTimestampMs: bigint
  /** The time of all records, if the broker sets it. */
  readonly appendTimestampMs: bigint | null
  readonly codec: number
  readonly isTransactional: boolean
  /** True if the batch's record is a transaction marker, not a message. */
  readonly isControl: boolean
  readonly producerId: bigint
  readonly recordCount: number
}

const MAGIC = 2
/** An entry of an older format, which is not read, may be smaller than a batch's header. */
const OLD_ENTRY_BYTES_MIN = 26
/** The length counts the bytes after the base offset and the length field. */
const LENGTH_END = 12
const MAGIC_AT = 16
export const HEADER_BYTES = 61
const CRC_AT = 17
const ATTRIBUTES_AT = 21
const LAST_OFFSET_DELTA_AT = 23
export const BASE_TIMESTAMP_AT = 27

export function readBatchHeader(batch: Buffer): BatchHeader {
  const attributes = batch.readInt16BE(ATTRIBUTES_AT)
  return {
    baseOffset: batch.readBigInt64BE(0),
    lastOffset: readLastOffset(batch),
    lastOffsetDelta: batch.readInt32BE(LAST_OFFSET_DELTA_AT),
    codec: attributes & 0x07,
    appendTimestampMs: attributes & 0x08 ? batch.readBigInt64BE(35) : null,
    isTransactional: (attributes & 0x10) !== 0,
    isControl: (attributes & 0x20) !== 0,
    baseTimestampMs: batch.readBigInt64BE(BASE_TIMESTAMP_AT),
    producerId: batch.readBigInt64BE(43),
    recordCount: batch.readInt32BE(57),
  }
}

function readLastOffset(batch: Buffer): bigint {
  return batch.readBigInt64BE(0) + BigInt(batch.readInt32BE(LAST_OFFSET_DELTA_AT))
}

/** True if the checksum matches. It covers everything except offset, length and epoch. */
export function isIntact(batch: Buffer): boolean {
  return crc32c(batch.subarray(ATTRIBUTES_AT)) === batch.readUInt32BE(CRC_AT)
}

/**
 * Returns the header of a batch. Throws `MalformedBatch` if it cannot be decoded, or if its offsets overlap those before or after
 * it; only the first batch may begin before `from`. The checksum does not cover the first offset. A batch with a damaged one could
 * pass as already read, or as a later batch after compacted messages.
 */
export function requireInOrder(
  batch: Buffer,
  next: Buffer | undefined,
  expected: bigint,
  from: bigint,
): BatchHeader {
  const header = requireHeader(batch)
  const { baseOffset, lastOffset } = header
  if (lastOffset < expected || (baseOffset < expected && expected > from))
    throw new MalformedBatch('its offsets do not follow those before it', 'damaged')
  const following = next === undefined ? null : readOffsets(next)
  if (baseOffset > expected && following !== null && following.first <= lastOffset)
    throw new MalformedBatch('its offsets are not before those that follow it', 'damaged')
  return header
}

/**
 * Returns the first intact batch with a wanted first offset, or null. Checks every byte, since the length of a damaged batch may be
 * wrong too.
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
    if (readOffsets(batch) !== null && isIntact(batch)) return { at, firstOffset }
  }
  return null
}

/**
 * The bytes from the intact batch at this offset on, if another precedes it; otherwise all bytes. Brokers send a damaged batch for
 * every offset that its header claims, even those of later batches.
 */
export function afterDamage(bytes: Buffer, from: bigint): Buffer {
  const [first] = splitBatches(bytes)
  const offsets = first === undefined ? null : readOffsets(first)
  if (first === undefined || (offsets !== null && offsets.first >= from) || isIntact(first)) return bytes
  return bytes.subarray(findIntact(bytes, (firstOffset) => firstOffset === from)?.at ?? 0)
}

/** Yields each complete batch. From an invalid length on, yields the rest as one batch. */
export function* splitBatches(bytes: Buffer): Generator<Buffer> {
  for (let at = 0; at + OLD_ENTRY_BYTES_MIN <= bytes.length; ) {
    const length = bytes.readInt32BE(at + LENGTH_END - 4)
    const end = at + LENGTH_END + length
    if (length < OLD_ENTRY_BYTES_MIN - LENGTH_END) {
      yield bytes.subarray(at)
      return
    }
    // Cut off by the requested size.
    if (end > bytes.length) return
    yield bytes.subarray(at, end)
    at = end
  }
}

export function readOffsets(batch: Buffer): { first: bigint; last: bigint } | null {
  const first = batch.readBigInt64BE(0)
  const magic = batch.readInt8(MAGIC_AT)
  const isWhole = batch.readInt32BE(LENGTH_END - 4) === batch.length - LENGTH_END
  if (!isWhole || first < 0n) return null
  if (magic === 0 || magic === 1) return { first, last: first }
  if (magic !== MAGIC || batch.length < HEADER_BYTES) return null
  const last = readLastOffset(batch)
  return last < first ? null : { first, last }
}

/** The header of a decodable batch. Throws `MalformedBatch` for any other. */
export function requireHeader(batch: Buffer): BatchHeader {
  if (readOffsets(batch) === null) throw new MalformedBatch('its header is not valid', 'damaged')
  // No broker since 4.0 has messages of that age.
  if (batch.readInt8(MAGIC_AT) !== MAGIC)
    throw new MalformedBatch('its record format is older than Kafka 0.11, which is not read')
  if (!isIntact(batch)) throw new MalformedBatch('its checksum is wrong', 'damaged')
  return readBatchHeader(batch)
}
