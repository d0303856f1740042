import { promisify } from 'node:util'
import { gzip, unzip, zstdCompress, zstdDecompress } from 'node:zlib'
import kafkajs from 'kafkajs'
import snappyCodec from 'kafkajs-snappy'
import { compressFrame, decompressFrame } from 'lz4-napi'
import { UndecodableBatch } from './undecodable.ts'

const compressGzip = promisify(gzip)
const decompressGzip = promisify(unzip)
const compressZstd = promisify(zstdCompress)
const decompressZstd = promisify(zstdDecompress)

/** A compressed batch of 1 MB can hold a thousand times as much: one that unpacks to more than this is not read. */
const UNPACKED_BYTES_MAX = 256 * 1024 * 1024
const bound = { maxOutputLength: UNPACKED_BYTES_MAX }

interface Encoder {
  readonly buffer: Buffer
}
type Unpack = (packed: Buffer) => Promise<Buffer>

/**
 * Teaches kafkajs the codecs that it does not bring: the producers choose, and a batch in an unknown codec would end
 * the consumer for good. What cannot be unpacked, by any codec, is an `UndecodableBatch`.
 */
export function registerCodecs(): void {
  const { CompressionCodecs, CompressionTypes } = kafkajs
  CompressionCodecs[CompressionTypes.GZIP] = () => ({
    compress: (encoder: Encoder) => compressGzip(encoder.buffer),
    decompress: named('gzip', (packed) => decompressGzip(packed, bound)),
  })
  CompressionCodecs[CompressionTypes.Snappy] = () => {
    const { compress, decompress } = snappyCodec()
    return { compress, decompress: named('snappy', decompress) }
  }
  CompressionCodecs[CompressionTypes.LZ4] = () => ({
    compress: (encoder: Encoder) => compressFrame(encoder.buffer),
    decompress: named('lz4', (packed) => decompressFrame(packed)),
  })
  CompressionCodecs[CompressionTypes.ZSTD] = () => ({
    compress: (encoder: Encoder) => compressZstd(encoder.buffer),
    decompress: named('zstd', (packed) => decompressZstd(packed, bound)),
  })
}

/** Says which batch it was that could not be unpacked. */
export function named(codec: string, unpack: Unpack): Unpack {
  return async (packed) => {
    try {
      return await unpack(packed)
    } catch (error) {
      throw new UndecodableBatch(codec, packed, error)
    }
  }
}
