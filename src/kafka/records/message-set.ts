import { crc32 } from 'node:zlib'
import { Cursor } from './cursor.ts'
import type { FetchedMessage } from './record.ts'
import { tooLarge, UNPACKED_BYTES_MAX, unpack } from './unpack.ts'
import { Malformed } from './unreadable.ts'

const CRC_AT = 12
const CHECKED_FROM = 16
const NO_TIME = -1n

/**
 * The messages of one entry in the format of before Kafka 0.11 (magic 0 or 1), which a broker may still keep. A compressed
 * entry holds others. Throws `Malformed`.
 */
export async function readOldEntry(entry: Buffer): Promise<FetchedMessage[]> {
  if (crc32(entry.subarray(CHECKED_FROM)) !== entry.readUInt32BE(CRC_AT)) {
    throw new Malformed('its checksum is wrong', 'damaged')
  }
  const { codec, magic, message } = readMessage(entry)
  if (codec === 0) return [message]
  const pieces: Buffer[] = []
  for await (const piece of unpack(codec, Buffer.from(message.value ?? []))) pieces.push(piece)
  const inner = [...entriesOf(Buffer.concat(pieces))].map((bytes) => readMessage(bytes).message)
  const last = inner.at(-1)
  if (last === undefined) return []
  // From magic 1 on, offsets inside count from the first, and the entry has that of its last.
  const shift = magic === 0 ? 0n : message.offset - last.offset
  return inner.map((one) => ({ ...one, offset: one.offset + shift }))
}

function readMessage(entry: Buffer): { codec: number; magic: number; message: FetchedMessage } {
  const magic = entry.readInt8(CHECKED_FROM)
  const codec = entry.readInt8(CHECKED_FROM + 1) & 0x07
  const cursor = new Cursor(entry, CHECKED_FROM + 2)
  const timestampMs = magic === 0 ? NO_TIME : (cursor.slice(8)?.readBigInt64BE(0) ?? NO_TIME)
  const key = cursor.slice(cursor.slice(4)?.readInt32BE(0) ?? -1)
  const value = cursor.slice(cursor.slice(4)?.readInt32BE(0) ?? -1)
  return { codec, magic, message: { offset: entry.readBigInt64BE(0), timestampMs, key, value, headers: {} } }
}

function* entriesOf(bytes: Buffer): Generator<Buffer> {
  for (let at = 0; at < bytes.length; ) {
    if (at + CRC_AT > bytes.length) throw new Malformed('it ends in the middle of a message')
    const size = bytes.readInt32BE(at + CRC_AT - 4)
    const end = at + CRC_AT + size
    if (size > UNPACKED_BYTES_MAX) throw tooLarge()
    if (size < 14 || end > bytes.length) throw new Malformed('it ends in the middle of a message')
    yield bytes.subarray(at, end)
    at = end
  }
}
