import { createHash } from 'node:crypto'
import type { Message } from '../../decide/event/message.ts'
import { VALUE_BYTES_MAX } from '../../decide/event/parse-event.ts'

const KEPT_BYTES = 64 * 1024
const HEADER_BYTES = 16

function isTooLarge(bytes: Uint8Array | null): bytes is Uint8Array {
  return bytes !== null && bytes.length > VALUE_BYTES_MAX
}

export function cutBytes(bytes: Uint8Array | null): Uint8Array | null {
  return isTooLarge(bytes) ? bytes.subarray(0, KEPT_BYTES) : bytes
}

/** The headers to store: the first ones, up to the size of a value, because PostgreSQL limits the size of JSON. */
export function keptHeaders(headers: Message['headers']): { kept: Message['headers']; leftOutCount: number } {
  const kept: Record<string, (Uint8Array | null)[]> = Object.create(null)
  let byteCount = 0
  let leftOutCount = 0
  for (const name in headers) {
    for (const value of headers[name] ?? []) {
      byteCount += HEADER_BYTES + name.length + (value?.length ?? 0)
      if (byteCount > VALUE_BYTES_MAX) leftOutCount++
      else {
        kept[name] ??= []
        kept[name].push(value)
      }
    }
  }
  return { kept, leftOutCount }
}

/** A note about the parts that are not stored, for the error; empty if the message is stored whole. */
export function notKept({ key, value, headers }: Message): string {
  const { leftOutCount } = keptHeaders(headers)
  return [
    cutNote('', value),
    cutNote('of the key ', key),
    leftOutCount === 0 ? '' : `; not stored: ${leftOutCount} of its headers`,
  ].join('')
}

function cutNote(what: string, bytes: Uint8Array | null): string {
  if (!isTooLarge(bytes)) return ''
  const hash = createHash('sha256').update(bytes).digest('hex')
  return `; stored: ${what}its first ${KEPT_BYTES} bytes and its SHA-256 ${hash}`
}
