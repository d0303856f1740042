import crc32c from 'kafkajs/src/protocol/recordBatch/crc32C/index.js'
import type { RecordContext } from './record.ts'

/** What stands before the records of a batch (https://kafka.apache.org/documentation/#recordbatch). */
export interface BatchHeader extends RecordContext {
  readonly lastOffset: bigint
  readonly codec: number
  readonly isTransactional: boolean
  /** Its record is the end of a transaction, not a message. */
  readonly isControl: boolean
  readonly producerId: bigint
  readonly recordCount: number
}

/** Bytes before those that its length counts: base offset and length. */
export const LENGTH_END = 12
export const MAGIC_AT = 16
export const HEADER_BYTES = 61
const CRC_AT = 17
const ATTRIBUTES_AT = 21
const LAST_OFFSET_DELTA_AT = 23

export function readBatchHeader(batch: Buffer): BatchHeader {
  const attributes = batch.readInt16BE(ATTRIBUTES_AT)
  return {
    baseOffset: batch.readBigInt64BE(0),
    lastOffset: lastOffsetOf(batch),
    lastOffsetDelta: batch.readInt32BE(LAST_OFFSET_DELTA_AT),
    codec: attributes & 0x07,
    appendTimestampMs: attributes & 0x08 ? batch.readBigInt64BE(35) : null,
    isTransactional: (attributes & 0x10) !== 0,
    isControl: (attributes & 0x20) !== 0,
    baseTimestampMs: batch.readBigInt64BE(27),
    producerId: batch.readBigInt64BE(43),
    recordCount: batch.readInt32BE(57),
  }
}

/** Records that compaction removed keep their offsets in it. */
export function lastOffsetOf(batch: Buffer): bigint {
  return batch.readBigInt64BE(0) + BigInt(batch.readInt32BE(LAST_OFFSET_DELTA_AT))
}

/** Whether the batch holds what its producer wrote. The checksum covers everything but offset, length and epoch. */
export function isIntact(batch: Buffer): boolean {
  return crc32c(batch.subarray(ATTRIBUTES_AT)) === batch.readUInt32BE(CRC_AT)
}
