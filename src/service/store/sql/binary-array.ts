/** OIDs of the element types: the same in every database (catalog pg_type). */
const OID = { text: 25, jsonb: 3802, int4: 23, int8: 20 } as const
export type ArrayType = keyof typeof OID
export type ArrayElement = string | number | bigint | null

const LENGTH_BYTES = 4
const NULL_LENGTH = -1
/** The first byte of a binary jsonb; its text follows. */
const JSONB_VERSION = 1
const NUMBER_BYTES_MAX = 8
/** Maximum number of UTF-8 bytes for one UTF-16 code unit. */
const CODE_UNIT_BYTES_MAX = 3

/** Scratch buffer for an array of unknown size: cheaper than measuring each string first. */
let scratch: Buffer = Buffer.allocUnsafe(64 * 1024)
/** The buffer grows as needed; memory beyond this size is released after use. */
const SCRATCH_BYTES_MAX = 4 * 1024 * 1024

/**
 * A one-dimensional array in PostgreSQL's binary format (`array_recv`), with one element per row. As text, every element would
 * have to be quoted here and parsed there. `text` and `jsonb` (JSON) take strings, `int4` and `int8` numbers, bigints or their
 * digits.
 */
export function binaryArray<Row>(
  type: ArrayType,
  rows: readonly Row[],
  toElement: (row: Row) => ArrayElement,
): Buffer {
  let bytes = scratch
  let end = 0
  const [dimensionCount, mayHoldNulls, firstIndex] = [1, 1, 1]
  for (const field of [dimensionCount, mayHoldNulls, OID[type], rows.length, firstIndex]) {
    end = bytes.writeInt32BE(field, end)
  }
  for (const row of rows) {
    const element = toElement(row)
    const endMax = end + sizeMax(element)
    if (endMax > bytes.length) bytes = enlarged(bytes, end, endMax)
    end = writeElement(bytes, end, type, element)
  }
  if (bytes.length > SCRATCH_BYTES_MAX) return bytes.subarray(0, end)
  scratch = bytes
  return Buffer.copyBytesFrom(bytes, 0, end)
}

function enlarged(bytes: Buffer, end: number, sizeMin: number): Buffer {
  const larger = Buffer.allocUnsafe(Math.max(sizeMin, bytes.length * 2))
  bytes.copy(larger, 0, 0, end)
  return larger
}

function sizeMax(element: ArrayElement): number {
  // A number may be given as digits, which can be fewer than its bytes.
  const textBytes = typeof element === 'string' ? 1 + element.length * CODE_UNIT_BYTES_MAX : 0
  return LENGTH_BYTES + Math.max(textBytes, NUMBER_BYTES_MAX)
}

function writeElement(bytes: Buffer, start: number, type: ArrayType, value: ArrayElement): number {
  if (value === null) return bytes.writeInt32BE(NULL_LENGTH, start)
  const end = writeValue(bytes, start + LENGTH_BYTES, type, value)
  bytes.writeInt32BE(end - start - LENGTH_BYTES, start)
  return end
}

function writeValue(bytes: Buffer, start: number, type: ArrayType, value: string | number | bigint): number {
  switch (type) {
    case 'int4':
      return bytes.writeInt32BE(Number(value), start)
    case 'int8':
      return bytes.writeBigInt64BE(BigInt(value), start)
    case 'jsonb':
      bytes.writeUInt8(JSONB_VERSION, start)
      return start + 1 + bytes.write(String(value), start + 1)
    case 'text':
      return start + bytes.write(String(value), start)
    default:
      return type satisfies never
  }
}
