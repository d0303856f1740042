import { gzipSync, zstdCompressSync } from 'node:zlib'
import { compressFrameSync } from 'lz4-napi'
import type { Random } from '../../../stack/random.ts'
import { writeBatch, writeMarker } from '../records/write-batch.ts'

/** A data record and its fate. */
export interface LogRecord {
  readonly offset: number
  readonly key: Buffer | null
  readonly value: string
  readonly transaction: Transaction | null
  /** Removed by compaction or retention. A consumer that fetched it earlier may still process it. */
  isGone: boolean
}

interface Transaction {
  readonly producerId: number
  readonly firstOffset: number
  end: 'commit' | 'abort' | null
}

interface LogBatch {
  readonly baseOffset: number
  readonly lastOffset: number
  readonly isMarker: boolean
  readonly transaction: Transaction | null
  /** A fetch reads from one segment only. */
  readonly startsSegment: boolean
  records: readonly LogRecord[]
  bytes: Buffer
  /** Returns the same batch with these records only. */
  readonly rewrite: (records: readonly LogRecord[]) => Buffer
}

/** An entry of the broker's transaction index. */
interface AbortedEntry {
  readonly producerId: number
  readonly firstOffset: number
  /** Offset of the ABORT marker. */
  readonly lastOffset: number
}

export interface LogShape {
  readonly producerCount: number
  /** Codec numbers of the record batch format. */
  readonly codecs: readonly [number, ...number[]]
  readonly largeBatchOneIn: number
}

const PACKS: readonly ((records: Buffer) => Buffer)[] = [
  (records) => records,
  (records) => gzipSync(records),
  snappyLiteral,
  (records) => compressFrameSync(records),
  (records) => zstdCompressSync(records),
]
/** Keys of messages. The first one looks like an ABORT marker. */
const KEYS = [Buffer.from([0, 0, 0, 0]), Buffer.from([0, 0, 0, 1]), Buffer.from('key'), null] as const

/** A partition's log as a broker keeps it: record batches as bytes, and the index of aborted transactions. */
export class PartitionLog {
  readonly #random: Random
  readonly #shape: LogShape
  readonly #open = new Map<number, Transaction>()
  #batches: LogBatch[] = []
  #records: LogRecord[] = []
  #aborted: AbortedEntry[] = []
  #start = 0
  #end = 0

  constructor(random: Random, shape: LogShape) {
    this.#random = random
    this.#shape = shape
  }

  get start(): number {
    return this.#start
  }

  /** High watermark: the offset after the last batch. */
  get end(): number {
    return this.#end
  }

  /** Last stable offset: where the earliest open transaction begins, or the end. */
  get stableEnd(): number {
    let end = this.#end
    for (const { firstOffset } of this.#open.values()) end = Math.min(end, firstOffset)
    return end
  }

  /** Last offset of the last batch that a consumer of committed messages can fetch. */
  get lastStable(): number {
    return this.#batches.findLast(({ baseOffset }) => baseOffset < this.stableEnd)?.lastOffset ?? -1
  }

  /** Committed records with `after` < offset <= `through`, in order. */
  committedBetween(after: bigint, through: bigint): LogRecord[] {
    let low = 0
    for (let high = this.#records.length; low < high; ) {
      const middle = (low + high) >> 1
      if (BigInt(this.#records[middle]?.offset ?? 0) <= after) low = middle + 1
      else high = middle
    }
    const found: LogRecord[] = []
    for (let i = low; i < this.#records.length; i++) {
      const record = this.#records[i] as LogRecord
      if (record.offset > through) break
      if (record.transaction === null || record.transaction.end === 'commit') found.push(record)
    }
    return found
  }

  /** Runs one step of one producer: records, or the end of its transaction. */
  append(): void {
    const { below } = this.#random
    const producerId = 1 + below(this.#shape.producerCount)
    const transaction = this.#open.get(producerId)
    if (transaction !== undefined && below(3) === 0) this.#endTransaction(producerId, transaction)
    else if (transaction !== undefined) this.#appendRecords(producerId, transaction)
    else if (below(12) === 0) this.#appendMarker(producerId, null, below(2) === 0 ? 'abort' : 'commit')
    else if (below(4) === 0) this.#appendRecords(below(2) === 0 ? null : producerId, null)
    else {
      const begun = { producerId, firstOffset: this.#end, end: null }
      this.#open.set(producerId, begun)
      this.#appendRecords(producerId, begun)
    }
  }

  appendLarge(count: number): void {
    this.#appendRecords(null, null, count)
  }

  /** Removes records, batches and markers below the last stable offset, as the broker's log cleaner may. */
  compact(): void {
    const { below } = this.#random
    const limit = below(this.stableEnd + 1)
    this.#batches = this.#batches.filter((batch) => {
      if (batch.lastOffset >= limit || below(2) === 0) return true
      if (batch.isMarker) return this.#keepsMarker(batch)
      // Records of an aborted transaction are removed together.
      const kept = batch.transaction?.end === 'abort' ? [] : batch.records.filter(() => below(3) > 0)
      for (const record of batch.records) if (!kept.includes(record)) record.isGone = true
      batch.records = kept
      // The last batch of a producer is kept without records, for its sequence number.
      if (kept.length === 0 && below(2) === 0) return false
      batch.bytes = batch.rewrite(kept)
      return true
    })
  }

  /** Removes a marker once all batches of its transaction are gone. */
  #keepsMarker(marker: LogBatch): boolean {
    const { transaction } = marker
    if (transaction !== null) {
      if (this.#batches.some((batch) => batch !== marker && batch.transaction === transaction)) return true
      this.#aborted = this.#aborted.filter(({ lastOffset }) => lastOffset !== marker.lastOffset)
    }
    const fate = this.#random.below(3)
    if (fate === 0) marker.bytes = marker.rewrite([])
    return fate < 2
  }

  /** Moves the start of the log forward, perhaps into the middle of a batch. */
  retain(): void {
    this.#start = Math.max(this.#start, this.#random.below(this.stableEnd + 1))
    this.#batches = this.#batches.filter(({ lastOffset }) => lastOffset >= this.#start)
    for (const record of this.#records) if (record.offset < this.#start) record.isGone = true
  }

  /** The fetch response for a consumer of committed messages (Kafka's `LocalLog.read`). */
  read(offset: number, bytesMax: number): { bytes: Buffer; aborted: [bigint, bigint][] } {
    const { below } = this.#random
    const first = this.#batches.findIndex(({ lastOffset }) => lastOffset >= offset)
    const found: LogBatch[] = []
    let size = 0
    for (const batch of first < 0 ? [] : this.#batches.slice(first)) {
      if (batch.baseOffset >= this.stableEnd) break
      if (found.length > 0 && (size >= bytesMax || batch.startsSegment)) break
      found.push(batch)
      size += batch.bytes.length
    }
    const last = found.at(-1)
    if (last === undefined) return { bytes: Buffer.alloc(0), aborted: [] }
    const bytes = Buffer.concat(found.map((batch) => batch.bytes))
    const cut = Math.max(bytesMax, found[0]?.bytes.length ?? 0)
    // The broker's offset index is sparse: the upper bound may lie far behind the fetch.
    const upperBound = last.lastOffset + 1 + below(this.#end - last.lastOffset)
    const listed = this.#aborted.filter(
      (entry) => entry.lastOffset >= offset && entry.firstOffset < upperBound,
    )
    // Brokers list them in the order of their markers, but guarantee none.
    if (below(3) === 0) shuffle(listed, below)
    const aborted = listed.map(({ producerId, firstOffset }): [bigint, bigint] => [
      BigInt(producerId),
      BigInt(firstOffset),
    ])
    return { bytes: bytes.subarray(0, cut), aborted }
  }

  #appendRecords(producerId: number | null, transaction: Transaction | null, large = 0): void {
    const { below, pick } = this.#random
    const baseOffset = this.#end
    const small = below(this.#shape.largeBatchOneIn) === 0 ? 50 + below(300) : 1 + below(4)
    const records = Array.from({ length: large || small }, (_, i) => {
      const value = `${baseOffset + i}`
      return { offset: baseOffset + i, key: pick(KEYS), value, transaction, isGone: false }
    })
    const codec = pick(this.#shape.codecs)
    const more = { baseOffset, codec, pack: PACKS[codec], isTransactional: transaction !== null }
    const rewrite = (kept: readonly LogRecord[]) =>
      writeBatch({
        ...more,
        ...(producerId !== null && { producerId }),
        lastOffsetDelta: records.length - 1,
        records: kept.map(({ offset, key, value }) => ({ key, value, offsetDelta: offset - baseOffset })),
      })
    this.#push({ records, transaction, isMarker: false, bytes: rewrite(records), rewrite }, records.length)
    for (const record of records) this.#records.push(record)
  }

  #endTransaction(producerId: number, transaction: Transaction): void {
    const end = this.#random.below(2) === 0 ? 'abort' : 'commit'
    transaction.end = end
    this.#open.delete(producerId)
    if (end === 'abort') this.#aborted.push({ ...transaction, lastOffset: this.#end })
    this.#appendMarker(producerId, transaction, end)
  }

  /** @param transaction null if it wrote nothing to this partition */
  #appendMarker(producerId: number, transaction: Transaction | null, end: 'abort' | 'commit'): void {
    const baseOffset = this.#end
    const empty = { baseOffset, producerId, isTransactional: true, isControl: true, lastOffsetDelta: 0 }
    const bytes = writeMarker(baseOffset, producerId, end)
    const rewrite = () => writeBatch({ ...empty, records: [] })
    this.#push({ records: [], transaction, isMarker: true, bytes, rewrite }, 1)
  }

  #push(batch: Omit<LogBatch, 'baseOffset' | 'lastOffset' | 'startsSegment'>, offsetCount: number): void {
    const baseOffset = this.#end
    this.#end += offsetCount
    const startsSegment = this.#random.below(8) === 0
    this.#batches.push({ ...batch, baseOffset, lastOffset: this.#end - 1, startsSegment })
  }
}

function shuffle(items: unknown[], below: Random['below']): void {
  for (let i = items.length - 1; i > 0; i--) {
    const other = below(i + 1)
    ;[items[i], items[other]] = [items[other], items[i]]
  }
}

/** A snappy block that is one literal. */
function snappyLiteral(records: Buffer): Buffer {
  const size: number[] = []
  for (let rest = records.length; rest > 0 || size.length === 0; rest >>>= 7) {
    size.push((rest & 0x7f) | (rest > 0x7f ? 0x80 : 0))
  }
  if (records.length === 0) return Buffer.from(size)
  const literal = Buffer.alloc(5, 63 << 2)
  literal.writeUInt32LE(records.length - 1, 1)
  return Buffer.concat([Buffer.from(size), literal, records])
}
