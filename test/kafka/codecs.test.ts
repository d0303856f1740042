import { gzipSync, zstdCompressSync } from 'node:zlib'
import kafkajs from 'kafkajs'
import t from 'tap'
import { registerCodecs } from '../../src/kafka/codecs.ts'
import { undecodableIn } from '../../src/kafka/undecodable.ts'

const { CompressionCodecs, CompressionTypes } = kafkajs
registerCodecs()

const unpack = (type: keyof typeof CompressionCodecs, packed: Buffer): Promise<Buffer> =>
  CompressionCodecs[type]().decompress(packed)

for (const type of [
  CompressionTypes.GZIP,
  CompressionTypes.Snappy,
  CompressionTypes.LZ4,
  CompressionTypes.ZSTD,
] as const) {
  t.test(`bytes that codec ${type} cannot unpack are an error that ends nothing`, async (t) => {
    const error = await unpack(type, Buffer.from('no frame at all')).then(String, (thrown) => thrown)
    t.match(error, {
      name: 'UndecodableBatch',
      offsets: null,
      message: /^15 bytes of \w+ cannot be decompressed: /,
    })
    t.equal(undecodableIn(new Error('given up', { cause: error })), error)
  })
}

t.test('a batch that would unpack to far too much is not unpacked', async (t) => {
  const much = Buffer.alloc(257 * 1024 * 1024)
  for (const [type, packed] of [
    [CompressionTypes.GZIP, gzipSync(much, { level: 1 })],
    [CompressionTypes.ZSTD, zstdCompressSync(much)],
  ] as const) {
    await t.rejects(unpack(type, packed), {
      name: 'UndecodableBatch',
      message: /larger than 268435456 bytes/,
    })
  }
})
