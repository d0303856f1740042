import { foldEventType } from '../event/event-type-pattern.ts'
import {
  INVALID_LOCATOR,
  STATED_FACT_LIST,
  STATED_FACTS,
  type StatedFacts,
  type StatedKey,
} from '../event/stated-facts.ts'
import {
  ADDRESS_KINDS,
  ADDRESSES,
  type Address,
  CHANNELS,
  DEFAULT_CHANNEL,
  nameOfChannel,
} from '../party/channel.ts'
import type { FoundContact } from '../party/contact.ts'
import type { Preferences } from '../party/preferences.ts'

/** `missing`: the event names no valid party. */
export const PARTY_STATES = ['found', 'not found', 'unresolved', 'missing'] as const
export type PartyState = (typeof PARTY_STATES)[number]

/** Sources of the facts. `contact` is null unless the party is found. */
interface FactSources {
  readonly eventType: string
  readonly party: PartyState
  readonly preferences: Preferences | undefined
  readonly contact: FoundContact | null
  readonly stated: StatedFacts
}

type Value = string | boolean

export interface Fact<V extends Value = Value, Unknown extends V | null = V | null, Column = string> {
  /** Column heading in the rule table and the promises. */
  readonly column: Column
  /** Values in the order in which situations are listed. */
  readonly values: readonly V[]
  /** Party states for which the fact is known: addresses are known only for a party that is found. */
  readonly knownFor: readonly PartyState[]
  /** Value for the other party states. */
  readonly whereUnknown: Unknown
  /** Default in a trial, and for a decision that was recorded before there was this fact: an address is on file. */
  readonly usual: V
  /** Flags and help of the option in `rules try`. */
  readonly option: readonly [flags: string, help: string]
  words(value: V): string
  /** Facts that another version stored may have a value that is not among `values`. */
  read(known: FactSources): unknown
}

function fact<const Column, const V extends Value, const Unknown extends V | null>(
  fact: Fact<V, Unknown, Column>,
): Fact<V, Unknown, Column> {
  return fact
}

/** `emailOnFile` and the like: one fact for each address. */
const ON_FILE = Object.fromEntries(
  ADDRESSES.map((address) => {
    const { word, noun } = ADDRESS_KINDS[address]
    return [
      `${address}OnFile`,
      fact({
        column: `${word} on file`,
        values: [false, true],
        knownFor: ['found'],
        whereUnknown: null,
        usual: true,
        option: [`--no-${word.replaceAll(' ', '-')}`, `there is no ${noun} on file`],
        words: (is) => `${is ? '' : 'no '}${word} on file`,
        read: ({ contact }) => contact !== null && contact[address] !== null,
      }),
    ]
  }),
) as unknown as {
  readonly [A in Address as `${A}OnFile`]: Fact<boolean, null, `${(typeof ADDRESS_KINDS)[A]['word']} on file`>
}

/** The facts that a message states. */
const STATED = Object.fromEntries(
  STATED_FACT_LIST.map(([key, { column, values, usual }]) => [
    key,
    fact({
      column,
      values,
      knownFor: PARTY_STATES,
      whereUnknown: usual,
      usual,
      option: [`--${column.replaceAll(' ', '-')} <value>`, `the ${column} that the event states`],
      words: (value) => `${column} ${value}`,
      read: ({ stated }) => stated[key] ?? usual,
    }),
  ]),
) as unknown as {
  readonly [K in StatedKey]: Fact<
    (typeof STATED_FACTS)[K]['values'][number],
    (typeof STATED_FACTS)[K]['usual'],
    (typeof STATED_FACTS)[K]['column']
  >
}

const NAMED = PARTY_STATES.filter((party) => party !== 'missing')

/**
 * Facts that a rule may test, besides the event type, in column order. They state whether contact data exists but contain none, so
 * they can be stored.
 */
export const FACTS = {
  party: fact({
    column: 'party',
    values: PARTY_STATES,
    knownFor: PARTY_STATES,
    whereUnknown: 'missing',
    usual: 'found',
    option: ['--party-state <state>', 'what policy administration knows of the party'],
    words: (party) => `party ${party}`,
    read: ({ party }) => party,
  }),
  optedOut: fact({
    column: 'opted out',
    values: [false, true],
    knownFor: NAMED,
    whereUnknown: false,
    usual: false,
    option: ['--opted-out', 'the party has opted out of events of this type'],
    words: (is) => (is ? 'opted out' : 'not opted out'),
    read: ({ eventType, preferences }) => {
      if (preferences === undefined) return false
      return (
        preferences.optedOutEvents.has(foldEventType(eventType)) ||
        (preferences.hasUnreadableOptOuts && 'unreadable')
      )
    },
  }),
  preferredChannel: fact({
    column: 'preferred channel',
    values: CHANNELS,
    knownFor: NAMED,
    whereUnknown: DEFAULT_CHANNEL,
    usual: DEFAULT_CHANNEL,
    option: ['--prefers <channel>', 'the preferred channel'],
    words: (channel) => `prefers ${nameOfChannel(channel)}`,
    read: ({ preferences }) => preferences?.preferredChannel ?? DEFAULT_CHANNEL,
  }),
  ...ON_FILE,
  ...STATED,
} as const

export type FactKey = keyof typeof FACTS
export type FactColumn = (typeof FACTS)[FactKey]['column']
export type KnownValue<K extends FactKey> = (typeof FACTS)[K]['values'][number]
type Values = { readonly [K in FactKey]: KnownValue<K> | (typeof FACTS)[K]['whereUnknown'] }

export type KeyedFact = readonly [FactKey, Fact<Value, Value | null, FactColumn>]
export const FACT_LIST = Object.entries(FACTS) as readonly KeyedFact[]

export const FACT_COLUMNS = FACT_LIST.map(([, { column }]) => column)

export type Facts = Values & { readonly eventType: string }

/** One combination of fact values, for any event type. A fact that makes no difference is left out. */
export type Situation = Pick<Values, 'party' | 'preferredChannel'> & Partial<Values>

/** The facts by which rules decide. */
export type RuleFacts = Situation & { readonly eventType: string }

/** Facts of a decision as recorded, perhaps by another version: it may know other facts, and other values. */
export interface RecordedFacts {
  readonly eventType: string
  readonly [fact: string]: unknown
}

/** Version 1.0 recorded this reason only. */
export const INVALID_LOCATOR_IN_1_0 = 'invalid party locator'

/**
 * The facts stated by a decision's event. The next attempt may read no message, and decides by these again. Includes facts that
 * only another version knows, so that it can use them.
 */
export function readStated(decision: {
  readonly facts: RecordedFacts
  readonly reason: string | null
}): StatedFacts {
  const { eventType: _, ...facts } = decision.facts
  const stated = Object.entries(facts).filter(([key]) => !(key in FACTS) || key in STATED_FACTS)
  if (decision.reason === INVALID_LOCATOR_IN_1_0) stated.push([INVALID_LOCATOR, true])
  return Object.fromEntries(stated)
}

/** The first fact whose value only another version of the service knows, or undefined. A fact without a value has its usual one. */
export function findForeign(facts: RecordedFacts): KeyedFact | undefined {
  return FACT_LIST.find(([key, { values, whereUnknown, usual }]) => {
    const value = facts[key] ?? (key === 'party' || key === 'preferredChannel' ? undefined : usual)
    return value !== whereUnknown && !values.some((known) => known === value)
  })
}

/** All facts of an event. `read` is called for the facts known for a party in this state. */
export function buildFacts(
  eventType: string,
  party: PartyState,
  read: (key: FactKey, fact: Fact) => unknown,
): Facts {
  const values: Record<string, unknown> = { eventType }
  for (const [key, fact] of FACT_LIST)
    values[key] = fact.knownFor.includes(party) ? read(key, fact) : fact.whereUnknown
  return values as unknown as Facts
}

export function cellText(value: unknown): string {
  if (typeof value === 'boolean') return value ? 'yes' : 'no'
  if (typeof value === 'string') return value
  return value === null || value === undefined ? 'unknown' : JSON.stringify(value)
}
