import { randomUUID } from 'node:crypto'
import { EVENT_TYPES } from '../../core/templates/specified-event-types.ts'
import type { TestMessage } from '../topics.ts'
import { PARTIES } from './parties.ts'

export const TOPIC_NAMES = ['claims', 'billing', 'enrollment'] as const
type TopicName = (typeof TOPIC_NAMES)[number]
export type Topics = Record<TopicName, string>

/** A few hundred messages, and what is needed to tell afterwards what became of them. */
export interface Publication {
  messages: TestMessage[]
  /** Of all events, each once. */
  eventIds: string[]
  /** How many of the messages are events that were published before. */
  duplicateCount: number
  /** Key of the messages that are no event. */
  rejectedKey: string
}

const EVENTS_PER_TYPE = 15
const UNKNOWN_TYPES = ['policy.transferred', 'claim.withdrawn', 'invoice.disputed']
const DUPLICATE_EVERY = 30
const MINUTE_MS = 60_000

/** Some rejections name no reason; their message reads well all the same. */
const REASONS = [
  'the damage happened before your cover began',
  'the repair invoice that we asked for is missing',
  undefined,
]

const LOCATOR_PREFIXES: Record<string, string> = {
  policy: 'POL',
  claim: 'CLM',
  invoice: 'INV',
  payment: 'PAY',
  charge: 'CHG',
  adjustment: 'ADJ',
}

/** Events of all known types and a few unknown ones, some of them twice, among messages that are no event. */
export function makePublication(topics: Topics, now: Date): Publication {
  const types = [...EVENT_TYPES, ...UNKNOWN_TYPES]
  const count = types.length * EVENTS_PER_TYPE
  const events = Array.from({ length: count }, (_, i) =>
    makeEvent(topics, types[i % types.length] ?? '', i, new Date(now.getTime() - (count - i) * MINUTE_MS)),
  )
  const published = events.map(({ message }) => message)
  const duplicates = published
    .filter((_, i) => i % DUPLICATE_EVERY === 0)
    // Every other one under another key: so it may well be in another partition than it was.
    .map((message, i) => (i % 2 === 0 ? message : { ...message, key: `again-${i}` }))
  const rejectedKey = `no-event-${randomUUID()}`
  return {
    messages: [...published, ...duplicates, ...noEvents(topics, rejectedKey)],
    eventIds: events.map(({ eventId }) => eventId),
    duplicateCount: duplicates.length,
    rejectedKey,
  }
}

function makeEvent(
  topics: Topics,
  eventType: string,
  number: number,
  occurredAt: Date,
): { eventId: string; message: TestMessage } {
  const eventId = randomUUID()
  // The step has no factor in common with the number of parties: each type meets ever other parties.
  const partyLocator = PARTIES[(number * 5) % PARTIES.length] ?? null
  const [subject = ''] = eventType.split('.')
  const reason = eventType === 'claim.rejected' ? REASONS[Math.floor(number / 3) % REASONS.length] : undefined
  const envelope = {
    eventId,
    eventType,
    occurredAt: occurredAt.toISOString(),
    partyLocator,
    payload: {
      locator: `${LOCATOR_PREFIXES[subject]}-${occurredAt.getUTCFullYear()}-${String(number + 1).padStart(5, '0')}`,
      reason,
    },
  }
  const topic = topics[topicOf(subject)]
  return { eventId, message: { topic, key: partyLocator, value: JSON.stringify(envelope) } }
}

function topicOf(subject: string): TopicName {
  if (subject === 'policy') return 'enrollment'
  return subject === 'claim' ? 'claims' : 'billing'
}

function noEvents({ claims, billing, enrollment }: Topics, key: string): TestMessage[] {
  const values: [topic: string, value: string | Buffer | null][] = [
    [claims, ''],
    [claims, '{"eventId":"cut off in the mid'],
    [claims, JSON.stringify({ eventType: 'claim.paid', partyLocator: 'party-0001' })],
    [billing, JSON.stringify({ eventId: true, eventType: 'invoice.paid' })],
    [billing, Buffer.from([0xff, 0xfe, 0x00])],
    [enrollment, '[]'],
    [enrollment, JSON.stringify({ eventId: randomUUID(), partyLocator: 'party-0001' })],
  ]
  return values.map(([topic, value]) => ({ topic, key, value }))
}
