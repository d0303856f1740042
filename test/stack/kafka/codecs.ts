import { promisify } from 'node:util'
import { gzip, zstdCompress } from 'node:zlib'
import kafkajs from 'kafkajs'
import snappyCodec from 'kafkajs-snappy'
import { compressFrame } from 'lz4-napi'

interface Encoder {
  readonly buffer: Buffer
}

const compressGzip = promisify(gzip)
const compressZstd = promisify(zstdCompress)

/** Teaches kafkajs's producers the codecs that they do not bring. */
export function registerCodecs(): void {
  const { CompressionCodecs, CompressionTypes } = kafkajs
  CompressionCodecs[CompressionTypes.GZIP] = () => ({
    compress: ({ buffer }: Encoder) => compressGzip(buffer),
  })
  CompressionCodecs[CompressionTypes.Snappy] = () => ({ compress: snappyCodec().compress })
  CompressionCodecs[CompressionTypes.LZ4] = () => ({
    compress: ({ buffer }: Encoder) => compressFrame(buffer),
  })
  CompressionCodecs[CompressionTypes.ZSTD] = () => ({
    compress: ({ buffer }: Encoder) => compressZstd(buffer),
  })
}
