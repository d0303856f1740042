import { readdirSync } from 'node:fs'
import { createRandom } from '../stack/random.ts'
import { TOPIC_NAMES, type TopicName } from '../stack/topics.ts'
import { PARTY_KINDS, type PartyKind } from './parties.ts'
import { REFUSED_EVENT_TYPE } from './truth.ts'

export interface LoadMessage {
  readonly topic: TopicName
  readonly partition: number
  readonly key: string | null
  readonly value: string | Buffer | null
  readonly timestamp?: string
}

/** Messages that are published together. */
export interface Burst {
  /** Since the start of the cycle. */
  readonly atMs: number
  readonly messages: readonly LoadMessage[]
}

const BURST_COUNT = 40
const BURST_PAUSE_MS_MAX = 600
const BURST_SIZES = [1, 2, 5, 10, 10, 20, 20, 40, 120] as const
/** Some of the newest ones are repeated in a later burst. */
const REMEMBERED_COUNT = 2_000
const TWO_DAYS_MS = 172_800_000

export const EVENT_TYPES = readdirSync(new URL('../first/templates/', import.meta.url))
  .filter((file) => file.endsWith('.mustache'))
  .map((file) => file.replace(/\.mustache$/, ''))
  .filter((name) => name !== 'generic')
  .sort() as [string, ...string[]]
export const UNKNOWN_TYPES = [
  'pet.adopted',
  'consent.given',
  '__proto__',
  'constructor',
  '{{locator}}',
] as const
const REASONS = ['damage by wear', 'a <b> & {{locator}}', 'two\nlines', '\0 \ud800', '', 42, null] as const
const ODD_PARTIES = [
  undefined,
  null,
  '',
  '.',
  '..',
  'a\0b',
  '\udfff',
  'x'.repeat(256),
  42,
  ['party-plain-1'],
  {},
] as const

/** Each as often as its share says. */
const KINDS_BY_SHARE = PARTY_KINDS.flatMap((kind) => Array<PartyKind>(kind.share).fill(kind)) as [
  PartyKind,
  ...PartyKind[],
]

/** The messages of each cycle, determined by the seed alone. */
export function createLoad(seed: number, partitionCount: number): () => Burst[] {
  const random = createRandom(seed ^ 0x10ad)
  const remembered: LoadMessage[] = []
  let eventCount = 0

  function burst(atMs: number): Burst {
    // The same events in two partitions at once, in opposite orders: locks in the order of arrival would deadlock.
    if (random.below(8) === 0) return { atMs, messages: mirrored() }
    const place = anyPlace()
    const messages = Array.from({ length: random.pick(BURST_SIZES) }, () => message(place))
    return { atMs, messages }
  }

  function mirrored(): LoadMessage[] {
    const [here, there] = [anyPlace(), anyPlace()]
    const events = Array.from({ length: 10 + random.below(60) }, () => event(here))
    return [...events, ...events.toReversed().map((message) => ({ ...message, ...there }))]
  }

  function message(place: ReturnType<typeof anyPlace>): LoadMessage {
    const dice = random.below(100)
    if (dice < 12) return { ...again(place), ...(dice < 4 ? {} : place) }
    if (dice < 20) return { ...place, key: null, value: random.pick(POISONS)(`${seed}-p${eventCount++}`) }
    return event(place)
  }

  /** An earlier message: in the same place if it is still there, else elsewhere. */
  function again(place: ReturnType<typeof anyPlace>): LoadMessage {
    return remembered[random.below(remembered.length)] ?? event(place)
  }

  function event(place: ReturnType<typeof anyPlace>): LoadMessage {
    const eventId = `${seed}-${eventCount++}${random.below(50) === 0 ? ' \u00fc\u{1f600}' : ''}`
    const partyLocator = anyParty()
    const eventType = random.below(10) === 0 ? random.pick(UNKNOWN_TYPES) : random.pick(EVENT_TYPES)
    // Without a party and a reference, a copy would be a conflict.
    const locator =
      random.below(10) === 0 && !ODD_PARTIES.includes(partyLocator)
        ? random.pick([undefined, 4711, '', 'a\nb'])
        : `LOC-${random.below(1e6)}`
    const value = JSON.stringify({
      eventId,
      eventType: random.below(60) === 0 ? REFUSED_EVENT_TYPE : eventType,
      partyLocator,
      payload: { locator, reason: REASONS[random.below(REASONS.length)] },
      padding: 'x'.repeat(random.below(10) === 0 ? random.below(5_000) : 0),
    })
    const key = typeof partyLocator === 'string' ? partyLocator : null
    // Older than the prunings: those that are not read yet are processed after them.
    const timestamp = /0( |$)/.test(eventId) ? { timestamp: String(Date.now() - TWO_DAYS_MS) } : {}
    const message = { ...place, key, value, ...timestamp }
    if (remembered.push(message) > REMEMBERED_COUNT) remembered.shift()
    return message
  }

  function anyParty(): unknown {
    if (random.below(25) === 0) return ODD_PARTIES[random.below(ODD_PARTIES.length)]
    const kind = random.pick(KINDS_BY_SHARE)
    return `${kind.prefix}${random.below(kind.partyCount)}`
  }

  function anyPlace(): { topic: TopicName; partition: number } {
    return { topic: random.pick(TOPIC_NAMES), partition: random.below(partitionCount) }
  }

  return () => {
    const bursts: Burst[] = []
    for (let atMs = 0; bursts.length < BURST_COUNT; atMs += random.below(BURST_PAUSE_MS_MAX))
      bursts.push(burst(atMs))
    return bursts
  }
}

const json = (value: unknown) => JSON.stringify(value)
/** Messages that are no event, one for each reason. The tests of the parser have all others. */
const POISONS: [(id: string) => LoadMessage['value'], ...((id: string) => LoadMessage['value'])[]] = [
  () => null,
  () => '',
  (id) => `hello ${id}`,
  (id) => Buffer.concat([Buffer.from(`{"eventId":"${id}`), Buffer.from([0xff]), Buffer.from('"}')]),
  () => 'null',
  () => json({ eventType: 'claim.paid' }),
  (id) => json({ eventId: id }),
]
