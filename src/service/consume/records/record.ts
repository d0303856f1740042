import { createHash } from 'node:crypto'
import type { Message } from '../../decide/event/message.ts'
import type { Fingerprint } from '../../decide/event/position.ts'
import type { BatchHeader } from './batches.ts'
import { Cursor } from './cursor.ts'
import { MalformedBatch } from './unreadable.ts'

/** A message with its time, set by the producer or the broker, as the topic is configured. */
export interface FetchedMessage extends Message {
  readonly timestampMs: bigint
}

/** Reads one record (https://kafka.apache.org/documentation/#record) without its length, in linear time. Throws `MalformedBatch`. */
export function readRecord(bytes: Buffer, header: BatchHeader): FetchedMessage {
  const cursor = new Cursor(bytes, 1)
  const timestampDelta = cursor.varlong()
  const offsetDelta = cursor.varint()
  if (offsetDelta < 0 || offsetDelta > header.lastOffsetDelta) {
    throw new MalformedBatch(`a record in it has the offset delta ${offsetDelta}`)
  }
  return {
    offset: header.baseOffset + BigInt(offsetDelta),
    timestampMs: header.appendTimestampMs ?? header.baseTimestampMs + timestampDelta,
    key: cursor.slice(cursor.varint()),
    value: cursor.slice(cursor.varint()),
    headers: readHeaders(cursor),
  }
}

const NO_HEADERS: Message['headers'] = Object.freeze(Object.create(null))

function readHeaders(cursor: Cursor): Message['headers'] {
  const count = cursor.varint()
  if (count === 0) return NO_HEADERS
  // A header may have any name, including `__proto__` and `constructor`.
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

/** The time distinguishes equal messages. Compaction and retention change nothing that is hashed. */
export function takeFingerprint({ offset, timestampMs, key, value }: Message): Fingerprint {
  const hash = createHash('sha256').update(
    `${timestampMs} ${key?.length ?? 'null'} ${value?.length ?? 'null'} `,
  )
  if (key !== null) hash.update(key)
  if (value !== null) hash.update(value)
  return { offset, sha256: hash.digest('hex') }
}
