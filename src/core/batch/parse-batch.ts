import type { Message } from '../event/message.ts'
import type { Event, Parsed } from '../event/parse-event.ts'
import type { RejectedMessage } from './batch.ts'

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
  /** The message of an event and its duplicates. */
  readonly kafkaMessages: (eventId: string) => readonly Message[]
}

export function parseBatch(parse: (message: Message) => Parsed, messages: readonly Message[]): ParsedBatch {
  const events = new Map<string, LocatedEvent & { readonly messages: Message[] }>()
  const rejected: RejectedMessage[] = []
  const tombstones: Message[] = []
  for (const message of messages) {
    const parsed = parse(message)
    if (parsed.kind === 'tombstone') tombstones.push(message)
    else if (parsed.kind === 'rejection') rejected.push({ message, rejection: parsed.rejection })
    else {
      const { event } = parsed
      const known = events.get(event.eventId)
      if (known !== undefined) known.messages.push(message)
      else {
        const { offset, timestampMs } = message
        events.set(event.eventId, { event, offset, timestampMs, messages: [message] })
      }
    }
  }
  const kafkaMessages = (eventId: string) => events.get(eventId)?.messages ?? []
  return { events: [...events.values()], rejected, tombstones, kafkaMessages }
}
