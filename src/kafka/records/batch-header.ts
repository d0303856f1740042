import crc32c from 'kafkajs/src/protocol/recordBatch/crc32C/index.js'
import type { RecordContext } from './record.ts'

/** The header of a record batch (https://kafka.apache.org/documentation/#recordbatch). */
export interface BatchHeader extends RecordContext {
  readonly lastOffset: bigint
  readonly codec: number
  readonly isTransactional: boolean
  /** Its record ends a transaction and is no message. */
  readonly isControl: boolean
  readonly producerId: bigint
  readonly recordCount: number
}

/** The length counts the bytes after the base offset and itself. */
export const LENGTH_END = 12
export const MAGIC_AT = 16
export const HEADER_BYTES = 61
const CRC_AT = 17
const ATTRIBUTES_AT = 21
const LAST_OFFSET_DELTA_AT = 23
export const BASE_TIMESTAMP_AT = 27

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
    baseTimestampMs: batch.readBigInt64BE(BASE_TIMESTAMP_AT),
    producerId: batch.readBigInt64BE(43),
    recordCount: batch.readInt32BE(57),
  }
}

/** Includes the offsets of records that compaction removed. */
export function lastOffsetOf(batch: Buffer): bigint {
  return batch.readBigInt64BE(0) + BigInt(batch.readInt32BE(LAST_OFFSET_DELTA_AT))
}

/** Compares the checksum, which covers everything but offset, length and epoch. */
export function isIntact(batch: Buffer): boolean {
  return crc32c(batch.subarray(ATTRIBUTES_AT)) === batch.readUInt32BE(CRC_AT)
}
