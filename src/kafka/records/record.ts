import { createHash } from 'node:crypto'
import type { Fingerprint } from '../../core/batch/checkpoint.ts'
import type { Message } from '../../core/event/message.ts'
import { Cursor } from './cursor.ts'
import { Malformed } from './unreadable.ts'

/** A message with its time, of the producer or of the broker as the topic is configured. */
export interface FetchedMessage extends Message {
  readonly timestampMs: bigint
}

/** What the records of a batch have in common. */
export interface RecordContext {
  readonly baseOffset: bigint
  readonly lastOffsetDelta: number
  readonly baseTimestampMs: bigint
  /** Of all records, where the broker stamps them. */
  readonly appendTimestampMs: bigint | null
}

/**
 * Reads one record (https://kafka.apache.org/documentation/#record) without its length, in linear time. Throws
 * `Malformed`.
 */
export function readRecord(bytes: Buffer, context: RecordContext): FetchedMessage {
  const cursor = new Cursor(bytes, 1)
  const timestampDelta = cursor.varlong()
  const offsetDelta = cursor.varint()
  if (offsetDelta < 0 || offsetDelta > context.lastOffsetDelta) {
    throw new Malformed(`a record in it has the offset delta ${offsetDelta}`)
  }
  return {
    offset: context.baseOffset + BigInt(offsetDelta),
    timestampMs: context.appendTimestampMs ?? context.baseTimestampMs + timestampDelta,
    key: cursor.slice(cursor.varint()),
    value: cursor.slice(cursor.varint()),
    headers: readHeaders(cursor),
  }
}

const NO_HEADERS: Message['headers'] = Object.freeze(Object.create(null))

function readHeaders(cursor: Cursor): Message['headers'] {
  const count = cursor.varint()
  if (count === 0) return NO_HEADERS
  // A header may have any name, `__proto__` and `constructor` included.
  const headers: Record<string, (Uint8Array | null)[]> = Object.create(null)
  for (let i = 0; i < count; i++) {
    const name = cursor.slice(cursor.varint())?.toString() ?? ''
    const value = cursor.slice(cursor.varint())
    const values = headers[name]
    if (values === undefined) headers[name] = [value]
    else values.push(value)
  }
  return headers
}

/** The time tells two equal messages apart; neither compaction nor retention changes any of this. */
export function fingerprintOf({ offset, timestampMs, key, value }: FetchedMessage): Fingerprint {
  const hash = createHash('sha256').update(
    `${timestampMs} ${key?.length ?? 'null'} ${value?.length ?? 'null'} `,
  )
  if (key !== null) hash.update(key)
  if (value !== null) hash.update(value)
  return { offset, sha256: hash.digest('hex') }
}
