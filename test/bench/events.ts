import { EVENT_TYPES } from '../authoring/templates/specified-event-types.ts'
import { createRandom, type Random } from '../stack/random.ts'
import { chooseTopic, type TopicName } from '../stack/topics.ts'
import { partyLocatorOf } from './parties.ts'

/** One message as a producer publishes it; its key keeps all events of a party in one partition. */
export interface BenchEvent {
  readonly topic: TopicName
  readonly key: string
  readonly eventId: string
  readonly value: string
}

const UNKNOWN_TYPES = ['policy.quoted', 'claim.appealed', 'invoice.disputed'] as const
const UNKNOWN_ONE_IN = 100
/** Probability and maximum distance of a repeated event. */
const AGAIN_ONE_IN = 100
const AGAIN_BACK_MAX = 500
const START_MS = Date.UTC(2026, 0, 1)

const REASONS = [
  'The damage is not covered by this policy',
  'The claim was made after the end of the period of notice',
  'The excess is higher than the amount claimed',
] as const

/**
 * Events of all 20 types, some unknown ones and some that come a second time; ids are UUIDv4. The same seed gives the
 * same events, and a smaller count the first of them.
 */
export function* generateEvents(seed: number, count: number): Generator<BenchEvent, void> {
  const random = createRandom(seed)
  const recent: BenchEvent[] = []
  for (let i = 0; i < count; i++) {
    const earlier = random.below(AGAIN_ONE_IN) === 0 ? recent[random.below(recent.length)] : undefined
    const event = earlier ?? generateEvent(random, START_MS + i)
    recent[i % AGAIN_BACK_MAX] = event
    yield event
  }
}

function generateEvent(random: Random, occurredAtMs: number): BenchEvent {
  const eventType = random.pick<string>(random.below(UNKNOWN_ONE_IN) === 0 ? UNKNOWN_TYPES : EVENT_TYPES)
  const topic = chooseTopic(eventType)
  const partyLocator = partyLocatorOf(random)
  const eventId = random.uuid()
  const value = JSON.stringify({
    eventId,
    eventType,
    occurredAt: new Date(occurredAtMs).toISOString(),
    partyLocator,
    payload: {
      locator: `${topic.slice(0, 3).toUpperCase()}-${random.below(100_000_000).toString().padStart(8, '0')}`,
      ...(eventType === 'claim.rejected' ? { reason: random.pick(REASONS) } : {}),
      policyLocator: `POL-${random.below(1_000_000).toString().padStart(7, '0')}`,
      amount: { value: random.below(1_000_000) / 100, currency: 'EUR' },
      handledBy: `team-${random.below(20)}`,
    },
  })
  return { topic, key: partyLocator, eventId, value }
}
