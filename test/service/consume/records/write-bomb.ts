import { zstdCompressSync } from 'node:zlib'
import { writeBatch } from './write-batch.ts'

/** A batch of one record with 257 MiB of zeros as its value, compressed to some 8 kB. */
export function writeBomb(): Buffer {
  const valueBytes = 257 * 1024 * 1024
  const varint = (value: number) => {
    const bytes: number[] = []
    for (let rest = value * 2; rest > 0; rest = Math.floor(rest / 128)) {
      bytes.push((rest % 128) | (rest >= 128 ? 128 : 0))
    }
    return Buffer.from(bytes)
  }
  const head = Buffer.concat([Buffer.from([0, 0, 0, 1]), varint(valueBytes)])
  const length = varint(head.length + valueBytes + 1)
  const record = Buffer.alloc(length.length + head.length + valueBytes + 1)
  length.copy(record)
  head.copy(record, length.length)
  const pack = () => zstdCompressSync(record)
  return writeBatch({ baseOffset: 0, records: [], recordCount: 1, lastOffsetDelta: 0, codec: 4, pack })
}
