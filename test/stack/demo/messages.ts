import { randomUUID } from 'node:crypto'
import { EVENT_TYPES } from '../../authoring/templates/specified-event-types.ts'
import { chooseTopic, type TestMessage, type Topics } from '../topics.ts'

/** Locators of parties, whose prefix decides what policy administration answers. */
const numbered = (prefix: string, count: number) =>
  Array.from({ length: count }, (_, i) => `${prefix}-${String(i + 1).padStart(4, '0')}`)

const REACHABLE = numbered('party', 40)
const NO_PHONE = numbered('no-phone', 2)
const OPTED_OUT = ['invoice.finalised', 'invoice.paid', 'payment.received', 'policy.endorsed']
/** Most are reached in some way, a few are not. Null: the event names nobody. */
const PARTIES = [
  ...REACHABLE,
  ...numbered('no-email', 2),
  ...NO_PHONE,
  ...numbered('unknown', 2),
  'error-0001',
  null,
]

const prefer = (channel: string, parties: readonly string[], optedOut: readonly string[] = []) =>
  parties.map((party) => ({ party, channel, optedOut }))
export const PREFERENCES = [
  ...prefer('SMS', [...REACHABLE.slice(0, 10), ...NO_PHONE]),
  ...prefer('IN_APP', REACHABLE.slice(10, 18)),
  ...prefer('EMAIL', REACHABLE.slice(18, 27), OPTED_OUT),
]

const EVENTS_PER_TYPE = 15
const DUPLICATE_EVERY = 30
const MINUTE_MS = 60_000
const TYPES = [...EVENT_TYPES, 'policy.transferred', 'claim.withdrawn', 'invoice.disputed']
/** Some rejections name no reason; their message reads well all the same. */
const REASONS = [
  'the damage happened before your cover began',
  'the repair invoice that we asked for is missing',
  undefined,
]

/** Events of all known types and a few unknown ones, some of them twice, among messages that are no event. */
export function makePublication(topics: Topics, nowMs: number) {
  const count = TYPES.length * EVENTS_PER_TYPE
  const events = Array.from({ length: count }, (_, i) => eventOf(topics, i, nowMs - (count - i) * MINUTE_MS))
  const published = events.map(({ message }) => message)
  const duplicates = published
    .filter((_, i) => i % DUPLICATE_EVERY === 0)
    // Every other one under another key, and so perhaps in another partition.
    .map((message, i) => (i % 2 === 0 ? message : { ...message, key: `again-${i}` }))
  /** Key of the messages that are no event. */
  const rejectedKey = `no-event-${randomUUID()}`
  return {
    messages: [...published, ...duplicates, ...noEvents(topics, rejectedKey)],
    eventIds: events.map(({ eventId }) => eventId),
    rejectedKey,
  }
}

function eventOf(topics: Topics, number: number, occurredMs: number) {
  const eventId = randomUUID()
  const eventType = TYPES[number % TYPES.length] ?? ''
  const subject = eventType.slice(0, eventType.indexOf('.'))
  // The step has no factor in common with the number of parties: each type meets ever other parties.
  const partyLocator = PARTIES[(number * 5) % PARTIES.length] ?? null
  const reason = eventType === 'claim.rejected' ? REASONS[Math.floor(number / 3) % REASONS.length] : undefined
  const locator = `${subject.slice(0, 3).toUpperCase()}-2026-${String(number + 1).padStart(5, '0')}`
  const occurredAt = new Date(occurredMs).toISOString()
  const envelope = { eventId, eventType, occurredAt, partyLocator, payload: { locator, reason } }
  const topic = topics[chooseTopic(eventType)]
  return { eventId, message: { topic, key: partyLocator, value: JSON.stringify(envelope) } }
}

function noEvents({ claims, billing, enrollment }: Topics, key: string): TestMessage[] {
  const values: [topic: string, value: string | Buffer][] = [
    [claims, ''],
    [claims, '{"eventId":"cut off in the mid'],
    [claims, '{"eventType":"claim.paid","partyLocator":"party-0001"}'],
    [billing, '{"eventId":true,"eventType":"invoice.paid"}'],
    [billing, Buffer.from([0xff, 0xfe, 0x00])],
    [enrollment, '[]'],
    [enrollment, '{"eventId":"no-type","partyLocator":"party-0001"}'],
  ]
  return values.map(([topic, value]) => ({ topic, key, value }))
}
