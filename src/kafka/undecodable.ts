/** Bytes of a record batch before its records (https://kafka.apache.org/documentation/#recordbatch). */
const HEADER_BYTES = 61
/** Bytes before those that its length counts. */
const LENGTH_END_BYTES = 12
const LAST_OFFSET_DELTA_AT = 23

/**
 * A record batch that cannot be unpacked. It has no `cause`, since kafkajs would hand on that one instead, and is none
 * of the errors that kafkajs takes for final.
 */
export class UndecodableBatch extends Error {
  readonly codec: string
  /** Null where they cannot be told. */
  readonly offsets: { readonly first: bigint; readonly last: bigint } | null

  /** @param packed its records, as a part of what was fetched */
  constructor(codec: string, packed: Buffer, cause: unknown) {
    const said = cause instanceof Error ? cause.message : String(cause)
    super(`${packed.length} bytes of ${codec} cannot be decompressed: ${said}`)
    this.name = 'UndecodableBatch'
    this.codec = codec
    this.offsets = offsetsOf(packed)
  }
}

/** kafkajs hands a codec the records alone, yet in the memory of the whole batch: its header lies before them. */
function offsetsOf({ buffer, byteOffset, length }: Buffer): UndecodableBatch['offsets'] {
  if (byteOffset < HEADER_BYTES) return null
  const header = Buffer.from(buffer, byteOffset - HEADER_BYTES, HEADER_BYTES)
  if (header.readInt32BE(LENGTH_END_BYTES - 4) !== HEADER_BYTES - LENGTH_END_BYTES + length) return null
  const first = header.readBigInt64BE(0)
  return { first, last: first + BigInt(header.readInt32BE(LAST_OFFSET_DELTA_AT)) }
}

/** The batch that an error of kafkajs comes from; null where it comes from something else. */
export function undecodableIn(error: unknown): UndecodableBatch | null {
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    if (cause instanceof UndecodableBatch) return cause
  }
  return null
}
