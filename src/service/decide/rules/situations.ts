import { cellText, FACT_LIST, type FactKey, PARTY_STATES, type Situation } from '../decision/facts.ts'
import { INVALID_LOCATOR } from '../event/stated-facts.ts'
import { ADDRESSED_CHANNELS, CHANNEL_KINDS } from '../party/channel.ts'
import type { PastRule, Rule } from './rule.ts'

/** A rule, or a promise, which sends nothing. */
type Row = Pick<Rule, 'when'> & Partial<Pick<PastRule, 'outcome' | 'sendBy'>>

/** Facts that matter even if no row tests them: the party, the preferred channel, and the address of each channel that is used. */
function factsAlwaysIncluded(rows: readonly Row[]): readonly FactKey[] {
  const sendingRows = rows.filter(({ outcome }) => outcome === 'SEND')
  const channels = ADDRESSED_CHANNELS.filter((channel) =>
    sendingRows.some(({ sendBy, when }) => (sendBy ?? when.preferredChannel ?? channel) === channel),
  )
  return [
    'party',
    'preferredChannel',
    ...channels.map((channel) => `${CHANNEL_KINDS[channel].address}OnFile` as const),
  ]
}

/**
 * All combinations of the facts that these rows test, or need for a send. Other facts change no outcome and are left out. A fact
 * that is unknown for a party in some state has one value there.
 */
export function foldSituations(rows: readonly Row[]) {
  const always = factsAlwaysIncluded(rows)
  const facts = FACT_LIST.filter(
    ([key]) => always.includes(key) || rows.some(({ when }) => when[key] !== null),
  )
  const situations: Situation[] = []
  const starts = new Map<Situation['party'], number>()
  for (const party of PARTY_STATES) {
    let ofParty = [{} as Situation]
    for (const [key, { values, knownFor, whereUnknown }] of facts) {
      const possible = key === 'party' ? [party] : knownFor.includes(party) ? values : [whereUnknown]
      ofParty = ofParty.flatMap((situation) => possible.map((value) => ({ ...situation, [key]: value })))
    }
    starts.set(party, situations.length)
    situations.push(...ofParty)
  }
  return {
    situations: situations as readonly Situation[],
    /** Position in `situations`; allocates nothing. */
    findPosition: (situation: Situation) => {
      let position = 0
      for (const [key, { values, knownFor, usual }] of facts) {
        if (key === 'party' || !knownFor.includes(situation.party)) continue
        position = position * values.length + values.indexOf(situation[key] ?? usual)
      }
      return (starts.get(situation.party) as number) + position
    },
  }
}

/**
 * Facts in words, as recorded: another version's too. Example: "party found, opted out, prefers text message, no email on file,
 * phone on file". `ownWords` replaces some of the words.
 */
export function describeSituation(
  { eventType: _, [INVALID_LOCATOR]: __, ...facts }: Readonly<Record<string, unknown>>,
  ownWords: { readonly [Key in FactKey]?: string } = {},
): string {
  const known = FACT_LIST.flatMap(([key, { column, values, knownFor, words }]) => {
    const value = facts[key] ?? null
    // An unknown party state decides nothing about the other facts.
    const isKnown =
      knownFor.some((party) => party === facts.party) || !PARTY_STATES.some((party) => party === facts.party)
    if (value === null || !isKnown) return []
    const usual = typeof value === typeof values[0] ? words(value as never) : `${column} ${cellText(value)}`
    return [ownWords[key] ?? usual]
  })
  const unknown = Object.entries(facts).filter(([key]) => !FACT_LIST.some(([own]) => own === key))
  return [...known, ...unknown.map(([key, value]) => `${key} ${cellText(value)}`)].join(', ')
}
