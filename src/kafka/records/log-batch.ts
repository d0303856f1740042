import { type BatchHeader, HEADER_BYTES, isIntact, MAGIC_AT, readBatchHeader } from './batch-header.ts'
import { Cursor } from './cursor.ts'
import { readOldEntry } from './message-set.ts'
import { type FetchedMessage, readRecord } from './record.ts'
import { decodeRecords, MAGIC, offsetsOf } from './record-set.ts'
import { unpack } from './unpack.ts'
import { Malformed } from './unreadable.ts'

/** How a transaction ended, by the record that the broker writes for it. */
export type TransactionEnd = 'committed' | 'aborted'

/** A record batch as it lies in the log, whatever became of its transaction. */
export interface LogBatch {
  readonly firstOffset: bigint
  readonly lastOffset: bigint
  /** Null where its records belong to no transaction. */
  readonly producerId: bigint | null
  /** Its records are no messages. */
  readonly isControl: boolean
  readonly messages: () => AsyncIterable<readonly FetchedMessage[]>
}

/** Throws `Malformed`, also from `messages`. @param bytes of the whole batch */
export function logBatchOf(bytes: Buffer): LogBatch {
  const offsets = offsetsOf(bytes)
  if (offsets === null) throw new Malformed('its header is not valid', 'damaged')
  const span = { firstOffset: offsets.first, lastOffset: offsets.last }
  if (bytes.readInt8(MAGIC_AT) !== MAGIC) {
    return { ...span, producerId: null, isControl: false, messages: () => oldMessages(bytes) }
  }
  if (!isIntact(bytes)) throw new Malformed('its checksum is wrong', 'damaged')
  const header = readBatchHeader(bytes)
  return {
    ...span,
    producerId: header.isTransactional ? header.producerId : null,
    isControl: header.isControl,
    messages: () => decodeRecords(header, unpack(header.codec, bytes.subarray(HEADER_BYTES))),
  }
}

async function* oldMessages(bytes: Buffer) {
  yield await readOldEntry(bytes)
}

/** Types of control records, as they stand in the key behind its version. */
const ENDS: readonly (TransactionEnd | undefined)[] = ['aborted', 'committed']

/** The end of a transaction that a batch is; null for any other batch, and for one that cannot be read. */
export function transactionEndOf(
  bytes: Buffer,
): { readonly producerId: bigint; readonly offset: bigint; readonly end: TransactionEnd } | null {
  if (bytes.length <= HEADER_BYTES || bytes.readInt8(MAGIC_AT) !== MAGIC) return null
  const header: BatchHeader = readBatchHeader(bytes)
  if (!header.isControl || header.codec !== 0 || !isIntact(bytes)) return null
  try {
    const cursor = new Cursor(bytes, HEADER_BYTES)
    const { key, offset } = readRecord(cursor.slice(cursor.varint()) ?? Buffer.alloc(0), header)
    const end = key !== null && key.length >= 4 ? ENDS[Buffer.from(key).readInt16BE(2)] : undefined
    return end === undefined ? null : { producerId: header.producerId, offset, end }
  } catch (error) {
    if (error instanceof Malformed) return null
    throw error
  }
}
