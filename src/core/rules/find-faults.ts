import { ADDRESS_OF } from '../decision/channel.ts'
import { type AskedFacts, cellText, FACT_LIST, type Situation } from '../decision/facts.ts'
import { describeClasses, type EventClass } from './event-classes.ts'
import type { Enumeration, FirstMatch } from './first-match.ts'
import { firstMismatch } from './mismatch.ts'
import type { Rule } from './rule.ts'
import { describeSituation } from './situations.ts'

/** Reasons to refuse these rules: a situation without a rule, a SEND to nobody, a rule that never applies. */
export function findFaults(enumeration: Enumeration): string[] {
  const { classes, answers } = enumeration
  const wrong = answers.flatMap(({ eventClass, situation, rule }) => {
    const fault = describeFault(rule, situation)
    return fault === null ? [] : [{ words: `${fault}: ${describeSituation(situation)}`, eventClass }]
  })
  return [...byWords(wrong, classes), ...neverApplying(enumeration)]
}

function describeFault(rule: Rule | null, situation: Situation): string | null {
  if (rule === null) return 'no rule covers'
  if (rule.outcome !== 'SEND') return null
  const channel = rule.sendBy ?? situation.preferredChannel
  const sends = `row ${rule.row}: rule "${rule.id}" sends by ${channel}`
  if (situation.party !== 'found') return `${sends} without a found party`
  const address = ADDRESS_OF[channel]
  return address === null || situation[`${address}OnFile`] ? null : `${sends} with no ${address} on file`
}

function neverApplying({ rules, classes, answers }: Enumeration): string[] {
  const applying = new Set(answers.map(({ rule }) => rule))
  return rules
    .filter((rule) => !applying.has(rule))
    .map((rule) => {
      const covered = answers.filter((answer) => firstMismatch(rule, toAskedFacts(answer)) === null)
      const never = `row ${rule.row}: rule "${rule.id}" can never apply`
      if (covered.length === 0) return `${never}: ${contradictionIn(rule)}`
      const hidden = covered.map(({ eventClass, situation, rule: hider }) => ({
        words: `rule "${hider?.id}" (row ${hider?.row}): ${describeSituation(situation)}`,
        eventClass,
      }))
      const lines = byWords(hidden, classes).map((line) => `\n  ${line}`)
      return `${never}: rules above it decide all that it covers${lines.join('')}`
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

/** One line per distinct text, with the event types that it applies to. */
export function byWords(
  said: readonly { readonly words: string; readonly eventClass: EventClass }[],
  classes: readonly EventClass[],
): string[] {
  return [...Map.groupBy(said, ({ words }) => words)].map(([words, group]) => {
    const eventClasses = group.map(({ eventClass }) => eventClass)
    return `${words} (${describeClasses(eventClasses, classes)})`
  })
}
