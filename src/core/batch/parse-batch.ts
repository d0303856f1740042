import type { Message } from '../event/message.ts'
import type { Event, Parsed } from '../event/parse-event.ts'
import type { RejectedMessage } from '../event/rejection.ts'

export interface LocatedEvent {
  readonly event: Event
  readonly offset: bigint
  readonly timestampMs: bigint | undefined
}

export interface ParsedBatch {
  readonly events: readonly LocatedEvent[]
  readonly rejected: readonly RejectedMessage[]
  /** Messages without a value, which are passed over. */
  readonly tombstones: readonly Message[]
  /** Ids of several messages. */
  readonly repeated: ReadonlySet<string>
  /** All messages with this id. */
  readonly readings: (eventId: string) => readonly Reading[]
}

export interface Reading {
  readonly message: Message
  readonly event: Event
}

export function parseBatch(parse: (message: Message) => Parsed, messages: readonly Message[]): ParsedBatch {
  const events = new Map<string, LocatedEvent & { readonly readings: Reading[] }>()
  const rejected: RejectedMessage[] = []
  const tombstones: Message[] = []
  const repeated = new Set<string>()
  for (const message of messages) {
    const parsed = parse(message)
    if (parsed.kind === 'tombstone') tombstones.push(message)
    else if (parsed.kind === 'rejection') rejected.push({ message, rejection: parsed.rejection })
    else {
      const { event } = parsed
      const known = events.get(event.eventId)
      const { offset, timestampMs } = message
      if (known === undefined)
        events.set(event.eventId, { event, offset, timestampMs, readings: [{ message, event }] })
      else {
        known.readings.push({ message, event })
        repeated.add(event.eventId)
      }
    }
  }
  const readings = (eventId: string) => events.get(eventId)?.readings ?? []
  return { events: [...events.values()], rejected, tombstones, repeated, readings }
}
