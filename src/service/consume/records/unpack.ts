import { createUnzip, createZstdDecompress } from 'node:zlib'
import snappyCodec from 'kafkajs-snappy'
import { errorMessage } from '../../text/faults.ts'
import { unpackLz4 } from './lz4.ts'
import { MalformedBatch } from './unreadable.ts'

/** Larger batches are not read: a compressed batch of 1 MB can contain a thousand times as much. */
export const UNPACKED_BYTES_MAX = 256 * 1024 * 1024
const CHUNK_BYTES = 64 * 1024

const CODECS: readonly {
  readonly name: string
  readonly unpack: (packed: Buffer) => Iterable<Buffer | Promise<Buffer>> | AsyncIterable<Buffer>
}[] = [
  { name: 'none', unpack: (records) => [records] },
  { name: 'gzip', unpack: (packed) => createUnzip({ chunkSize: CHUNK_BYTES }).end(packed) },
  { name: 'snappy', unpack: unpackSnappy },
  { name: 'lz4', unpack: unpackLz4 },
  { name: 'zstd', unpack: (packed) => createZstdDecompress({ chunkSize: CHUNK_BYTES }).end(packed) },
]

/** Unpacks bytes piece by piece. Throws `MalformedBatch` if they cannot be unpacked, or are too large once unpacked. */
export async function* unpack(codec: number, packed: Buffer): AsyncGenerator<Buffer> {
  const found = CODECS[codec]
  if (found === undefined) throw new MalformedBatch(`codec ${codec} is unknown`)
  let byteCount = 0
  try {
    for await (const piece of found.unpack(packed)) {
      byteCount += piece.length
      if (byteCount > UNPACKED_BYTES_MAX) break
      yield piece
    }
  } catch (error) {
    if (error instanceof MalformedBatch) throw error
    throw new MalformedBatch(`its ${found.name} cannot be decompressed: ${errorMessage(error)}`)
  }
  if (byteCount > UNPACKED_BYTES_MAX) throw tooLarge()
}

export function tooLarge(): MalformedBatch {
  return new MalformedBatch(`it is larger than ${UNPACKED_BYTES_MAX} bytes once decompressed`, 'too-large')
}

const XERIAL_MAGIC = Buffer.from([0x82, 0x53, 0x4e, 0x41, 0x50, 0x50, 0x59, 0x00])
const XERIAL_HEADER_BYTES = 16

/** Unpacks one block, or the blocks in a frame of xerial's snappy-java. */
function* unpackSnappy(packed: Buffer): Generator<Promise<Buffer>> {
  if (!packed.subarray(0, XERIAL_MAGIC.length).equals(XERIAL_MAGIC)) {
    yield unpackSnappyBlock(packed)
    return
  }
  for (let at = XERIAL_HEADER_BYTES; at < packed.length; ) {
    const start = at + 4
    const end = start + packed.readUInt32BE(at)
    if (end > packed.length) throw new MalformedBatch('its snappy ends in the middle of a block')
    yield unpackSnappyBlock(packed.subarray(start, end))
    at = end
  }
}

function unpackSnappyBlock(block: Buffer): Promise<Buffer> {
  // The library allocates the unpacked size stated at the start of a block.
  let byteCount = 0
  for (let i = 0; i < 5; i++) {
    const byte = block[i] ?? 0
    byteCount += (byte & 0x7f) * 2 ** (7 * i)
    if (byte < 0x80) break
  }
  if (byteCount > UNPACKED_BYTES_MAX) throw tooLarge()
  return snappyCodec().decompress(block)
}
