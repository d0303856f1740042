import { MalformedBatch } from './unreadable.ts'

const MAGIC = 0x184d2204
const BLOCK_BYTES_MAX = [0, 0, 0, 0, 64 * 1024, 256 * 1024, 1024 * 1024, 4 * 1024 * 1024]
/** Maximum distance of a block's references into previous blocks. */
const WINDOW_BYTES = 64 * 1024
const MATCH_BYTES_MIN = 4

/**
 * Unpacks an LZ4 frame (https://github.com/lz4/lz4/blob/dev/doc/lz4_Frame_format.md) block by block; libraries unpack the whole
 * frame at once, whatever its size. Ignores checksums, since the record batch has its own.
 */
export function* unpackLz4(frame: Buffer): Generator<Buffer> {
  if (frame.length < 7 || frame.readUInt32LE(0) !== MAGIC) throw malformed('is no frame')
  const flags = frame.readUInt8(4)
  const blockBytesMax = BLOCK_BYTES_MAX[(frame.readUInt8(5) >> 4) & 0x07] || 0
  if (blockBytesMax === 0) throw malformed('names no size of its blocks')
  const hasBlockChecksums = (flags & 0x10) !== 0
  const hasContentSize = (flags & 0x08) !== 0
  let window: Buffer = Buffer.alloc(0)
  for (let at = 7 + (hasContentSize ? 8 : 0); ; ) {
    if (at + 4 > frame.length) throw malformed('ends without an end mark')
    const word = frame.readUInt32LE(at)
    if (word === 0) return
    const start = at + 4
    const end = start + (word & 0x7fff_ffff)
    if (end > frame.length) throw malformed('ends in the middle of a block')
    const block = frame.subarray(start, end)
    const unpacked = word >= 0x8000_0000 ? block : unpackBlock(block, window, blockBytesMax)
    yield unpacked
    window = Buffer.concat([window, unpacked]).subarray(-WINDOW_BYTES)
    at = end + (hasBlockChecksums ? 4 : 0)
  }
}

function unpackBlock(block: Buffer, window: Buffer, bytesMax: number): Buffer {
  const out = Buffer.allocUnsafe(window.length + bytesMax)
  window.copy(out)
  let to = window.length
  let at = 0
  const lengthFrom = (nibble: number): number => {
    let length = nibble
    for (let byte = nibble === 15 ? 255 : 0; byte === 255; length += byte) {
      byte = block[at++] ?? Number.NaN
      if (Number.isNaN(byte)) throw malformed('has a block that ends in the middle')
    }
    return length
  }
  while (at < block.length) {
    const token = block[at++] as number
    const literalCount = lengthFrom(token >> 4)
    if (at + literalCount > block.length || to + literalCount > out.length)
      throw malformed('has a damaged block')
    to += block.copy(out, to, at, at + literalCount)
    at += literalCount
    // The last sequence of a block has no match.
    if (at === block.length) break
    const distance = (block[at++] ?? 0) | ((block[at++] ?? 0) << 8)
    const matchCount = lengthFrom(token & 0x0f) + MATCH_BYTES_MIN
    const from = to - distance
    if (distance === 0 || from < 0 || to + matchCount > out.length) throw malformed('has a damaged block')
    if (distance >= matchCount) out.copyWithin(to, from, from + matchCount)
    // A match may overlap the bytes that it writes.
    else for (let i = 0; i < matchCount; i++) out[to + i] = out[from + i] as number
    to += matchCount
  }
  return out.subarray(window.length, to)
}

function malformed(detail: string): MalformedBatch {
  return new MalformedBatch(`its lz4 cannot be decompressed: it ${detail}`)
}
