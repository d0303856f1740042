import type { Message } from '../event/message.ts'
import type { Event, Parsed } from '../event/parse-event.ts'
import type { RejectedMessage } from './batch.ts'

/** An event and the offset it came from. */
export interface LocatedEvent {
  readonly event: Event
  readonly offset: bigint
  /** As in its message. */
  readonly timestampMs: bigint | undefined
}

/** Splits messages into events, the first of each event id only, and rejected messages. */
export function parseBatch(
  parse: (message: Message) => Parsed,
  messages: readonly Message[],
): { readonly events: readonly LocatedEvent[]; readonly rejected: readonly RejectedMessage[] } {
  const events = new Map<string, LocatedEvent>()
  const rejected: RejectedMessage[] = []
  for (const message of messages) {
    const parsed = parse(message)
    if (parsed.kind === 'rejection') rejected.push({ message, rejection: parsed.rejection })
    else if (!events.has(parsed.event.eventId)) {
      const { offset, timestampMs } = message
      events.set(parsed.event.eventId, { event: parsed.event, offset, timestampMs })
    }
  }
  return { events: [...events.values()], rejected }
}
