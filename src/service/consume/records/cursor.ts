import { MalformedBatch } from './unreadable.ts'

/** Reads numbers and slices of Kafka's record format in sequence. Throws `MalformedBatch` at the end of the bytes. */
export class Cursor {
  readonly bytes: Buffer
  at: number

  constructor(bytes: Buffer, at = 0) {
    this.bytes = bytes
    this.at = at
  }

  byte(): number {
    const byte = this.bytes[this.at]
    if (byte === undefined) throw new MalformedBatch('it ends in the middle of a record')
    this.at++
    return byte
  }

  /** Reads a zigzag number of at most 32 bits. */
  varint(): number {
    let value = 0
    for (let shift = 0; shift < 35; shift += 7) {
      const byte = this.byte()
      value |= (byte & 0x7f) << shift
      if (byte < 0x80) return (value >>> 1) ^ -(value & 1)
    }
    throw new MalformedBatch('a number in it has more than 32 bits')
  }

  varlong(): bigint {
    // Most numbers have one byte.
    const first = this.byte()
    if (first < 0x80) return BigInt((first >>> 1) ^ -(first & 1))
    let value = BigInt(first & 0x7f)
    for (let shift = 7n; shift < 70n; shift += 7n) {
      const byte = this.byte()
      value |= BigInt(byte & 0x7f) << shift
      if (byte < 0x80) return BigInt.asIntN(64, (value >> 1n) ^ -(value & 1n))
    }
    throw new MalformedBatch('a number in it has more than 64 bits')
  }

  /** Returns bytes without a copy; null if the length is negative. */
  slice(length: number): Buffer | null {
    if (length < 0) return null
    const end = this.at + length
    if (end > this.bytes.length) throw new MalformedBatch('it ends in the middle of a record')
    const slice = this.bytes.subarray(this.at, end)
    this.at = end
    return slice
  }
}
