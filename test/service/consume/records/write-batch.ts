import crc32c from 'kafkajs/src/protocol/recordBatch/crc32C/index.js'

export interface WrittenRecord {
  readonly key?: Buffer | null
  readonly value?: Buffer | string | null
  readonly headers?: readonly (readonly [name: string, value: Buffer | null])[]
  /** Default: the previous record's plus one. */
  readonly offsetDelta?: number
  readonly timestampDelta?: number
}

export interface WrittenBatch {
  readonly baseOffset: number
  readonly records: readonly WrittenRecord[]
  readonly producerId?: number
  readonly isTransactional?: boolean
  readonly isControl?: boolean
  readonly codec?: number
  /** Compresses the records; uncompressed by default. */
  readonly pack?: (records: Buffer) => Buffer
  readonly baseTimestampMs?: number
  /** The broker's time for all records. */
  readonly appendTimestampMs?: number
  readonly lastOffsetDelta?: number
  readonly recordCount?: number
}

/** A record batch as brokers keep it (https://kafka.apache.org/documentation/#recordbatch). */
export function writeBatch(batch: WrittenBatch): Buffer {
  const records = writeRecords(batch.records)
  const packed = batch.pack?.(records) ?? records
  const bytes = Buffer.alloc(61 + packed.length)
  packed.copy(bytes, 61)
  bytes.writeBigInt64BE(BigInt(batch.baseOffset), 0)
  bytes.writeInt32BE(bytes.length - 12, 8)
  bytes.writeInt8(2, 16)
  const { appendTimestampMs, isTransactional, isControl, codec = 0 } = batch
  const flags =
    (appendTimestampMs === undefined ? 0 : 0x08) | (isTransactional ? 0x10 : 0) | (isControl ? 0x20 : 0)
  bytes.writeInt16BE(codec | flags, 21)
  bytes.writeInt32BE(batch.lastOffsetDelta ?? batch.records.length - 1, 23)
  bytes.writeBigInt64BE(BigInt(batch.baseTimestampMs ?? 0), 27)
  bytes.writeBigInt64BE(BigInt(appendTimestampMs ?? batch.baseTimestampMs ?? 0), 35)
  bytes.writeBigInt64BE(BigInt(batch.producerId ?? -1), 43)
  bytes.writeInt16BE(batch.producerId === undefined ? -1 : 0, 51)
  bytes.writeInt32BE(-1, 53)
  bytes.writeInt32BE(batch.recordCount ?? batch.records.length, 57)
  bytes.writeUInt32BE(crc32c(bytes.subarray(21)), 17)
  return bytes
}

/** The end of a transaction. */
export function writeMarker(baseOffset: number, producerId: number, kind: 'abort' | 'commit'): Buffer {
  const key = Buffer.from([0, 0, 0, kind === 'abort' ? 0 : 1])
  return writeBatch({
    baseOffset,
    producerId,
    isTransactional: true,
    isControl: true,
    records: [{ key, value: Buffer.alloc(6) }],
  })
}

export function writeRecords(records: readonly WrittenRecord[]): Buffer {
  return Buffer.concat(
    records.map((record, i) => {
      const headers = record.headers ?? []
      const body = Buffer.concat([
        Buffer.of(0),
        zigzag(BigInt(record.timestampDelta ?? 0)),
        zigzag(BigInt(record.offsetDelta ?? i)),
        withLength(record.key ?? null),
        withLength(record.value ?? null),
        zigzag(BigInt(headers.length)),
        ...headers.flatMap(([name, value]) => [withLength(name), withLength(value)]),
      ])
      return withLength(body)
    }),
  )
}

function withLength(given: Buffer | string | null): Buffer {
  if (given === null) return zigzag(-1n)
  const bytes = Buffer.from(given)
  return Buffer.concat([zigzag(BigInt(bytes.length)), bytes])
}

function zigzag(value: bigint): Buffer {
  let rest = BigInt.asUintN(64, (value << 1n) ^ (value >> 63n))
  const bytes: number[] = []
  do {
    const more = rest > 0x7fn
    bytes.push(Number(rest & 0x7fn) | (more ? 0x80 : 0))
    rest >>= 7n
  } while (rest > 0n)
  return Buffer.from(bytes)
}
