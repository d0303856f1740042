import { promisify } from 'node:util'
import { zstdCompress, zstdDecompress } from 'node:zlib'
import kafkajs from 'kafkajs'
import snappyCodec from 'kafkajs-snappy'
import { compressFrame, decompressFrame } from 'lz4-napi'

const compressZstd = promisify(zstdCompress)
const decompressZstd = promisify(zstdDecompress)

interface Encoder {
  readonly buffer: Buffer
}

/**
 * Teaches kafkajs the codecs that it does not bring: the producers choose, and a batch in an unknown codec would end
 * the consumer for good.
 */
export function registerCodecs(): void {
  const { CompressionCodecs, CompressionTypes } = kafkajs
  CompressionCodecs[CompressionTypes.Snappy] = snappyCodec
  CompressionCodecs[CompressionTypes.LZ4] = () => ({
    compress: (encoder: Encoder) => compressFrame(encoder.buffer),
    decompress: (buffer: Buffer) => decompressFrame(buffer),
  })
  CompressionCodecs[CompressionTypes.ZSTD] = () => ({
    compress: (encoder: Encoder) => compressZstd(encoder.buffer),
    decompress: (buffer: Buffer) => decompressZstd(buffer),
  })
}
