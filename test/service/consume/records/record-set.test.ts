import { crc32, gzipSync, zstdCompressSync } from 'node:zlib'
import snappyCodec from 'kafkajs-snappy'
import { compressFrameSync } from 'lz4-napi'
import t from 'tap'
import type { AbortedTransaction } from '../../../../src/service/consume/records/aborted-transactions.ts'
import type { FetchedMessage } from '../../../../src/service/consume/records/record.ts'
import { findRecordSet, readRecordSet } from '../../../../src/service/consume/records/record-set.ts'
import { unpack } from '../../../../src/service/consume/records/unpack.ts'
import { type WrittenBatch, writeBatch, writeRecords } from './write-batch.ts'

const text = (value: Uint8Array | null) => value && Buffer.from(value).toString()

async function read(bytes: Buffer, from = 0, aborted: readonly AbortedTransaction[] = []) {
  const set = findRecordSet(bytes, BigInt(from), aborted)
  const messages: FetchedMessage[] = []
  let fault: unknown = null
  try {
    if (set) for await (const some of readRecordSet(set)) messages.push(...some)
  } catch (error) {
    fault = error
  }
  return { set, messages, fault, found: messages.map(({ offset, value }) => `${offset} ${text(value)}`) }
}

const batch = (baseOffset: number, values: string[], more: Partial<WrittenBatch> = {}) =>
  writeBatch({ baseOffset, records: values.map((value) => ({ value })), ...more })

t.test('a record keeps its key, value, time and headers', async (t) => {
  const headers = [
    ['a', Buffer.from('1')],
    ['__proto__', Buffer.from('2')],
    ['a', null],
    ['constructor', Buffer.alloc(0)],
  ] as const
  const records = [{ key: Buffer.from('k'), value: 'v', headers, timestampDelta: -5 }, { value: null }]
  const { messages } = await read(
    writeBatch({ baseOffset: 7, records, baseTimestampMs: 1_700_000_000_000 }),
    7,
  )
  const [first, second] = messages
  t.strictSame([first?.offset, first?.timestampMs, text(first?.key ?? null)], [7n, 1_699_999_999_995n, 'k'])
  t.strictSame(
    Object.entries(first?.headers ?? {}).map(([name, values]) => [name, values.map(text)]),
    [
      ['a', ['1', null]],
      ['__proto__', ['2']],
      ['constructor', ['']],
    ],
  )
  t.strictSame([second?.offset, second?.key, second?.value], [8n, null, null])
})

t.test('records that the broker stamps have its time', async (t) => {
  const { messages } = await read(batch(0, ['a', 'b'], { appendTimestampMs: 42, baseTimestampMs: 7 }))
  t.strictSame(
    messages.map(({ timestampMs }) => timestampMs),
    [42n, 42n],
  )
})

t.test('a batch with a damaged first offset is not skipped', async (t) => {
  const damaged = batch(11, ['b', 'c'])
  damaged.writeBigInt64BE(3n, 0)
  const between = await read(Buffer.concat([batch(10, ['a']), damaged, batch(13, ['d'])]), 10)
  t.match(between.fault, { reason: 'damaged' })
  t.strictSame(between.found, ['10 a'])
  t.match((await read(Buffer.concat([damaged, batch(13, ['d'])]), 11)).fault, { reason: 'damaged' })
  damaged.writeBigInt64BE(10n, 0)
  t.match(
    await read(Buffer.concat([batch(10, ['a']), damaged, batch(13, ['d'])]), 10),
    { found: ['10 a'], fault: { reason: 'damaged' } },
    'even if only a part of it seems to be read already',
  )
})

t.test('a batch whose damaged offset is too high does not count as a later one', async (t) => {
  const damaged = batch(10, ['a'])
  damaged.writeBigInt64BE(1_000n, 0)
  const { found, fault } = await read(Buffer.concat([batch(9, ['z']), damaged, batch(11, ['b'])]), 9)
  t.match(fault, { reason: 'damaged' })
  t.strictSame(found, ['9 z'])
})

t.test('a last batch after a gap is left to the next fetch', async (t) => {
  const first = batch(0, ['a'])
  const set = findRecordSet(Buffer.concat([first, batch(5, ['b'])]), 0n, [])
  t.strictSame([set?.lastOffset, set?.bytes.length], [0n, first.length])
  t.equal(findRecordSet(batch(5, ['b']), 1n, [])?.lastOffset, 5n, 'alone it is read')
})

t.test('an incomplete batch is left to the next fetch', async (t) => {
  const whole = batch(0, ['a'])
  const { found, set } = await read(Buffer.concat([whole, batch(1, ['b']).subarray(0, -1)]))
  t.strictSame([found, set?.lastOffset, set?.bytes.length], [['0 a'], 0n, whole.length])
  t.equal(findRecordSet(whole.subarray(0, -1), 0n, []), null)
  t.equal(findRecordSet(Buffer.alloc(0), 0n, []), null)
})

/** The framing of snappy-java. */
const xerial = async (records: Buffer) => {
  const blocks: Buffer[] = [
    Buffer.from([0x82, 0x53, 0x4e, 0x41, 0x50, 0x50, 0x59, 0, 0, 0, 0, 1, 0, 0, 0, 1]),
  ]
  for (let at = 0; at < records.length; at += 32_768) {
    const block = await snappyCodec().compress({ buffer: records.subarray(at, at + 32_768) })
    const size = Buffer.alloc(4)
    size.writeUInt32BE(block.length)
    blocks.push(size, block)
  }
  return Buffer.concat(blocks)
}

t.test('batches of every codec are read, in any number of pieces', async (t) => {
  for (const [name, count] of [
    ['of few', 3],
    ['of many', 20_000],
  ] as const) {
    const values = Array.from({ length: count }, (_, i) => `event ${i} ${'lorem ipsum '.repeat(i % 7)}`)
    const records = writeRecords(values.map((value) => ({ value })))
    const packs: [string, number, Buffer][] = [
      ['none', 0, records],
      ['gzip', 1, gzipSync(records)],
      ['snappy', 2, await snappyCodec().compress({ buffer: records })],
      ['framed snappy', 2, await xerial(records)],
      ['lz4', 3, compressFrameSync(records)],
      ['lz4 with checksums', 3, compressFrameSync(records, { blockChecksums: true, contentChecksum: true })],
      ['zstd', 4, zstdCompressSync(records)],
    ]
    for (const [codec, number, packed] of packs) {
      const { messages, fault } = await read(batch(0, values, { codec: number, pack: () => packed }))
      t.equal(fault, null, `${name} ${codec}`)
      t.strictSame(messages.map(({ value }) => text(value)).join(), values.join(), `${name} ${codec}`)
    }
  }
})

t.test('a damaged batch is reported after the messages before it', async (t) => {
  const damaged = batch(1, ['b', 'c'])
  damaged.writeUInt8(damaged.readUInt8(damaged.length - 3) ^ 1, damaged.length - 3)
  const bytes = Buffer.concat([batch(0, ['a']), damaged, batch(3, ['d'])])
  const { found, fault, set } = await read(bytes)
  t.strictSame(found, ['0 a'])
  t.equal(set?.lastOffset, 3n)
  t.match(fault, {
    name: 'UnreadableBatch',
    reason: 'damaged',
    offsets: { first: 1n, last: 2n },
    message: 'the record batch of offsets 1 to 2 cannot be read: its checksum is wrong',
  })
})

t.test('an invalid header means a damaged batch', async (t) => {
  for (const [at, value] of [
    [8, 5],
    [8, -1],
    [16, 0x07000000],
    [0, -1],
    [23, -1],
  ] as const) {
    const damaged = batch(1, ['b'])
    damaged.writeInt32BE(value, at)
    const { found, fault } = await read(Buffer.concat([batch(0, ['a']), damaged]))
    t.strictSame([found, (fault as { reason?: string })?.reason], [['0 a'], 'damaged'], `${value} at ${at}`)
    t.match((await read(damaged, 1)).fault, { reason: 'damaged' })
  }
})

t.test('invalid records with a correct checksum are undecodable', async (t) => {
  const packs: [string, Partial<WrittenBatch>][] = [
    ['too few', { recordCount: 3 }],
    ['too many', { recordCount: 1 }],
    ['ends in the middle', { pack: (records) => records.subarray(0, -1) }],
    ['negative length', { pack: () => Buffer.of(1) }],
    ['no gzip', { codec: 1 }],
    ['cut gzip', { codec: 1, pack: (records) => gzipSync(records).subarray(0, -9) }],
    ['no snappy', { codec: 2, pack: () => Buffer.from([0x82, 0x53, 0x4e, 0x41, 0x50, 0x50, 0x59, 0, 9, 9]) }],
    ['no lz4', { codec: 3 }],
    ['cut lz4', { codec: 3, pack: (records) => compressFrameSync(records).subarray(0, -6) }],
    ['no zstd', { codec: 4 }],
    ['cut zstd', { codec: 4, pack: (records) => zstdCompressSync(records).subarray(0, -3) }],
    ['unknown codec', { codec: 5 }],
    ['offsets that do not ascend', { records: [{ offsetDelta: 1 }, { offsetDelta: 1 }] }],
    ['an offset of another batch', { records: [{ offsetDelta: 0 }, { offsetDelta: 2 }] }],
  ]
  for (const [what, more] of packs) {
    const { fault } = await read(batch(0, ['aaaaaaaa', 'b'], more))
    t.match(fault, { name: 'UnreadableBatch', reason: 'undecodable' }, what)
  }
})

t.test('a batch that is too large once decompressed is refused, whatever the codec', async (t) => {
  const much = Buffer.alloc(257 * 1024 * 1024)
  const packs: [number, Buffer][] = [
    [1, gzipSync(much, { level: 1 })],
    [2, await snappyCodec().compress({ buffer: much })],
    [3, compressFrameSync(much)],
    [4, zstdCompressSync(much)],
  ]
  for (const [codec, packed] of packs) {
    let most = 0
    const all = async () => {
      for await (const piece of unpack(codec, packed)) most = Math.max(most, piece.length)
    }
    await t.rejects(all(), { reason: 'too-large', message: /larger than 268435456 bytes/ }, `codec ${codec}`)
    t.ok(most <= 4 * 1024 * 1024, `codec ${codec} in pieces`)
  }
  // A record with a length of 257 MB and no content.
  const { fault } = await read(batch(0, [''], { pack: () => Buffer.from([0x80, 0x80, 0x80, 0x81, 0x02]) }))
  t.match(fault, { reason: 'too-large' })
})

t.test('an LZ4 match longer than its distance repeats its own output', async (t) => {
  const values = [`${'a'.repeat(5_000)}${'xy'.repeat(70_000)}`]
  const pack = (records: Buffer) => compressFrameSync(records)
  const { found } = await read(batch(0, values, { codec: 3, pack }))
  t.equal(found[0], `0 ${values[0]}`)
})

/** An entry in the format before Kafka 0.11. */
function oldEntry(offset: number, magic: 0 | 1, value: Buffer, codec = 0): Buffer {
  const time = magic === 1 ? Buffer.alloc(8, 0) : Buffer.alloc(0)
  const body = Buffer.concat([Buffer.of(magic, codec), time, Buffer.alloc(4, 0xff), Buffer.alloc(4), value])
  body.writeInt32BE(value.length, 2 + time.length + 4)
  const head = Buffer.alloc(16)
  head.writeBigInt64BE(BigInt(offset), 0)
  head.writeInt32BE(body.length + 4, 8)
  head.writeUInt32BE(crc32(body), 12)
  return Buffer.concat([head, body])
}

t.test('a message in a format before Kafka 0.11 is refused with that reason', async (t) => {
  for (const magic of [0, 1] as const) {
    const bytes = Buffer.concat([batch(2, ['a']), oldEntry(3, magic, Buffer.from('b')), batch(4, ['c'])])
    const { found, fault } = await read(bytes, 2)
    t.strictSame(found, ['2 a'])
    t.match(fault, {
      reason: 'undecodable',
      message: /older than Kafka 0\.11/,
      offsets: { first: 3n, last: 3n },
    })
  }
})
