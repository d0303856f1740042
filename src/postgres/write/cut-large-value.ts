import { createHash } from 'node:crypto'
import { VALUE_BYTES_MAX } from '../../core/event/parse-event.ts'

/** How much is kept of a value that is too large to be kept whole. */
const KEPT_BYTES = 64 * 1024

function isTooLarge(value: Uint8Array | null): value is Uint8Array {
  return value !== null && value.length > VALUE_BYTES_MAX
}

/** What is stored of a rejected message's value. */
export function keptOf(value: Uint8Array | null): Uint8Array | null {
  return isTooLarge(value) ? value.subarray(0, KEPT_BYTES) : value
}

/** What its error says of the rest; empty for a value that is stored whole. */
export function notKept(value: Uint8Array | null): string {
  if (!isTooLarge(value)) return ''
  const hash = createHash('sha256').update(value).digest('hex')
  return `; stored: its first ${KEPT_BYTES} bytes and its SHA-256 ${hash}`
}
