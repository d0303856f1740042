import { CHANNEL_KINDS } from '../decision/channel.ts'
import { type AskedFacts, cellText, FACT_LIST, type Situation } from '../decision/facts.ts'
import type { Fault } from '../text/faults.ts'
import { describeClasses, type EventClass } from './event-classes.ts'
import type { Enumeration, FirstMatch } from './first-match.ts'
import { firstMismatch } from './mismatch.ts'
import type { Rule } from './rule.ts'
import { describeSituation } from './situations.ts'

/** Reasons to refuse these rules: a situation without a rule, a SEND to nobody, a rule that never applies. */
export function findFaults(enumeration: Enumeration): Fault[] {
  const { classes, answers } = enumeration
  const wrong = answers.flatMap(({ eventClass, situation, rule }) => {
    const fault = describeFault(rule, situation)
    const place = { row: rule?.row ?? null, column: null }
    return fault === null
      ? []
      : [{ ...place, words: `${fault}: ${describeSituation(situation)}`, eventClass }]
  })
  return [...byWords(wrong, classes), ...neverApplying(enumeration)]
}

function describeFault(rule: Rule | null, situation: Situation): string | null {
  if (rule === null) return 'no rule covers'
  if (rule.outcome !== 'SEND') return null
  const channel = rule.sendBy ?? situation.preferredChannel
  const sends = `rule "${rule.id}" sends by ${channel}`
  if (situation.party !== 'found') return `${sends} without a found party`
  const address = CHANNEL_KINDS[channel].address
  return address === null || situation[`${address}OnFile`] ? null : `${sends} with no ${address} on file`
}

function neverApplying({ rules, classes, answers }: Enumeration): Fault[] {
  const applying = new Set(answers.map(({ rule }) => rule))
  return rules
    .filter((rule) => !applying.has(rule))
    .map((rule) => {
      const covered = answers.filter((answer) => firstMismatch(rule, toAskedFacts(answer)) === null)
      const place = { row: rule.row, column: null }
      const never = `rule "${rule.id}" can never apply`
      if (covered.length === 0) return { ...place, text: `${never}: ${contradictionIn(rule)}` }
      const hidden = covered.map(({ eventClass, situation, rule: hider }) => ({
        words: `rule "${hider?.id}" (row ${hider?.row}): ${describeSituation(situation)}`,
        eventClass,
      }))
      const lines = byWords(hidden, classes).map(({ text }) => text)
      return { ...place, text: `${never}: rules above it decide all that it covers`, lines }
    })
}

/** A rule that can never match tests a fact that is unknown for its party. */
function contradictionIn({ when: { party, ...when } }: Rule): string {
  const [asked] = FACT_LIST.filter(
    ([key, { knownFor, unknown }]) =>
      key !== 'party' && party && !knownFor.includes(party) && when[key] !== null && when[key] !== unknown,
  )
  return `"${asked?.[1].column}" is always ${cellText(asked?.[1].unknown)} where "party" is ${party}`
}

function toAskedFacts({ eventClass, situation }: FirstMatch): AskedFacts {
  return { eventType: eventClass.representative, ...situation }
}

/** One text for equal words, with the event types that they apply to. */
export function byWords<Said extends { readonly words: string; readonly eventClass: EventClass }>(
  said: readonly Said[],
  classes: readonly EventClass[],
) {
  return [...Map.groupBy(said, ({ words }) => words).values()].map((group) => {
    const { words, eventClass: _, ...place } = group[0] as Said
    const eventClasses = group.map(({ eventClass }) => eventClass)
    return { ...place, text: `${words} (${describeClasses(eventClasses, classes)})` }
  })
}
