import { CHANNELS, DEFAULT_CHANNEL } from '../decision/channel.ts'
import type { Facts } from '../decision/facts.ts'

/** One combination of fact values, for events of whatever type. */
export type Situation = Omit<Facts, 'eventType'>

const CHANNEL_COUNT = CHANNELS.length
const FOUND_COUNT = 2 * CHANNEL_COUNT * 4
const NOT_FOUND_START = FOUND_COUNT
const UNRESOLVED_START = NOT_FOUND_START + 2 * CHANNEL_COUNT
const MISSING_INDEX = UNRESOLVED_START + 2 * CHANNEL_COUNT

/**
 * All that can be the case, 37 in number: what is on file is known only of a found party (24), preferences only of a
 * party that is named (6 not found, 6 unresolved), nothing of a missing one (1).
 */
export const SITUATIONS: readonly Situation[] = [
  ...preferences().flatMap((preference) => [
    { party: 'found', ...preference, emailOnFile: false, phoneOnFile: false } as const,
    { party: 'found', ...preference, emailOnFile: false, phoneOnFile: true } as const,
    { party: 'found', ...preference, emailOnFile: true, phoneOnFile: false } as const,
    { party: 'found', ...preference, emailOnFile: true, phoneOnFile: true } as const,
  ]),
  ...preferences().map((preference) => unknownContact('not found', preference)),
  ...preferences().map((preference) => unknownContact('unresolved', preference)),
  unknownContact('missing', { optedOut: false, preferredChannel: DEFAULT_CHANNEL }),
]

type Preference = Pick<Situation, 'optedOut' | 'preferredChannel'>

function preferences(): Preference[] {
  return [false, true].flatMap((optedOut) =>
    CHANNELS.map((preferredChannel) => ({ optedOut, preferredChannel })),
  )
}

function unknownContact(party: Situation['party'], preference: Preference): Situation {
  return { party, ...preference, emailOnFile: null, phoneOnFile: null }
}

/** The position in SITUATIONS; allocates nothing. */
export function situationIndex(situation: Situation): number {
  const preference = (situation.optedOut ? CHANNEL_COUNT : 0) + CHANNELS.indexOf(situation.preferredChannel)
  switch (situation.party) {
    case 'found':
      return preference * 4 + (situation.emailOnFile ? 2 : 0) + (situation.phoneOnFile ? 1 : 0)
    case 'not found':
      return NOT_FOUND_START + preference
    case 'unresolved':
      return UNRESOLVED_START + preference
    case 'missing':
      return MISSING_INDEX
    default:
      return situation.party satisfies never
  }
}

const PARTY_WORDS = {
  found: 'party found',
  'not found': 'party not found',
  unresolved: 'party unresolved',
  missing: 'party missing',
} as const satisfies Record<Situation['party'], string>

/** The situation in words, such as "party found, opted out, prefers SMS, no email on file, phone on file". */
export function describeSituation(situation: Situation): string {
  const words: string[] = [PARTY_WORDS[situation.party]]
  if (situation.party !== 'missing') {
    words.push(situation.optedOut ? 'opted out' : 'not opted out', `prefers ${situation.preferredChannel}`)
  }
  if (situation.emailOnFile !== null) words.push(situation.emailOnFile ? 'email on file' : 'no email on file')
  if (situation.phoneOnFile !== null) words.push(situation.phoneOnFile ? 'phone on file' : 'no phone on file')
  return words.join(', ')
}
