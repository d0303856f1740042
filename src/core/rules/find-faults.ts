import { CHANNEL_KINDS, nameOfChannel } from '../decision/channel.ts'
import { type AskedFacts, cellText, FACT_LIST, type Situation } from '../decision/facts.ts'
import type { Fault } from '../text/faults.ts'
import { describeClasses, type EventClass } from './event-classes.ts'
import type { Enumeration, FirstMatch } from './first-match.ts'
import { firstMismatch } from './mismatch.ts'
import type { Rule } from './rule.ts'
import { describeSituation } from './situations.ts'

/** A fault names no more rules or event types: it stays one line. */
const NAMED_COUNT_MAX = 8

/** Reasons to refuse these rules: a situation without a rule, a SEND to nobody, a rule that never applies. One for each cause. */
export function findFaults(enumeration: Enumeration): Fault[] {
  const { rules, classes, answers } = enumeration
  const wrong = answers.flatMap((answer) => {
    const fault = findWrong(answer.rule, answer.situation)
    return fault === null ? [] : [{ ...answer, ...fault }]
  })
  const byCause = Map.groupBy(wrong, ({ rule, words }) => `${rule?.row} ${words}`)
  const faults = [...byCause.values()].map((cases): Fault => {
    const [{ rule, words, cell }] = cases as [(typeof wrong)[0]]
    const text = `${words}: ${summariseCases(cases, classes)}`
    if (rule === null || cell === null) return { row: null, column: null, text }
    const isWrong = (other: Rule, { situation }: FirstMatch) => findWrong(other, situation) !== null
    const move = describeMove(rules, rule, answers, isWrong)
    return {
      row: rule.row,
      column: null,
      text: `${text}. Write ${cell}${move === null ? '' : `, or ${move}`}.`,
    }
  })
  return [...faults, ...neverApplying(enumeration)]
}

/** `cell` would correct it. */
function findWrong(rule: Rule | null, situation: Situation): { words: string; cell: string | null } | null {
  if (rule === null) return { words: 'no rule covers', cell: null }
  if (rule.outcome !== 'SEND') return null
  if (situation.party !== 'found')
    return { words: `rule "${rule.id}" sends without a found party`, cell: '"found" as its party' }
  const channel = rule.sendBy ?? situation.preferredChannel
  const address = CHANNEL_KINDS[channel].address
  if (address === null || situation[`${address}OnFile`]) return null
  const words = `rule "${rule.id}" sends by ${nameOfChannel(channel)} with no ${address} on file`
  return { words, cell: `"yes" as its ${address} on file` }
}

/**
 * Where to move a rule, such as `move rule "a" below row 5 ("opted-out")`, so that rules now below it decide, rightly, what it
 * decides wrongly. Null if no place mends all of it, or if the rule would decide nothing there.
 */
export function describeMove(
  rules: readonly Rule[],
  rule: Rule,
  answers: readonly FirstMatch[],
  isWrong: (rule: Rule, answer: FirstMatch) => boolean,
): string | null {
  const own = answers
    .filter((answer) => answer.rule === rule)
    .map((answer) => ({ answer, next: findNext(rules, rule, answer) }))
  const wrong = own.filter(({ answer }) => isWrong(rule, answer))
  const below = wrong.flatMap(({ answer, next }) => (next && !isWrong(next, answer) ? [next] : []))
  const last = below.toSorted((one, other) => other.row - one.row)[0]
  if (last === undefined || below.length < wrong.length) return null
  const isUseful = own.some(({ next }) => next === undefined || next.row > last.row)
  return isUseful ? `move rule "${rule.id}" below row ${last.row} ("${last.id}")` : null
}

/** The rule that would decide if this one were not there. */
function findNext(rules: readonly Rule[], rule: Rule, answer: FirstMatch): Rule | undefined {
  return rules.find((other) => other.row > rule.row && firstMismatch(other, toAskedFacts(answer)) === null)
}

function neverApplying({ rules, answers }: Enumeration): Fault[] {
  const applying = new Set(answers.map(({ rule }) => rule))
  const dead = rules
    .filter((rule) => !applying.has(rule))
    .map((rule) => {
      const covered = answers.filter((answer) => firstMismatch(rule, toAskedFacts(answer)) === null)
      return { rule, hiders: rules.filter((other) => covered.some((answer) => answer.rule === other)) }
    })
  const byHiders = Map.groupBy(dead, ({ rule, hiders }) =>
    hiders.length === 1 ? `below ${hiders[0]?.row}` : `${rule.row}`,
  )
  return [...byHiders.values()].map((group): Fault => {
    const [{ rule, hiders }] = group as [(typeof dead)[0]]
    const [first, last] = [hiders[0], hiders.at(-1)]
    if (first === undefined || last === undefined)
      return {
        row: rule.row,
        column: null,
        text: `rule "${rule.id}" can never apply: ${contradictionIn(rule)}`,
      }
    if (group.length > 1) {
      const hidden = group.map((one) => one.rule)
      const names = hidden.slice(0, NAMED_COUNT_MAX).map(({ id }) => `"${id}"`)
      const more = hidden.length - names.length
      const never = `rules ${names.join(', ')}${more > 0 ? ` and ${more} more` : ''} can never apply`
      const isHiding = (one: Rule, answer: FirstMatch) => {
        const next = one === first ? findNext(rules, first, answer) : undefined
        return hidden.some((other) => other === next)
      }
      const move = describeMove(rules, first, answers, isHiding) ?? 'fill in more of its cells, or delete it'
      return {
        row: first.row,
        column: null,
        text: `${never}: rule "${first.id}" above decides all of it: ${move}`,
      }
    }
    const above =
      hiders.length === 1
        ? `rule "${first.id}" (row ${first.row}) above decides`
        : `${hiders.length} rules above, "${first.id}" (row ${first.row}) to "${last.id}" (row ${last.row}), decide`
    const text = `rule "${rule.id}" can never apply: ${above} all of it: move it above row ${last.row}, or delete it`
    return { row: rule.row, column: null, text }
  })
}

/** A rule that can never match tests a fact that is unknown for its party. */
function contradictionIn({ when: { party, ...when } }: Rule): string {
  const [asked] = FACT_LIST.filter(
    ([key, { knownFor, unknown }]) =>
      key !== 'party' && party && !knownFor.includes(party) && when[key] !== null && when[key] !== unknown,
  )
  return `"${asked?.[1].column}" is always ${nameOfChannel(cellText(asked?.[1].unknown))} where "party" is ${party}`
}

function toAskedFacts({ eventClass, situation }: Pick<FirstMatch, 'eventClass' | 'situation'>): AskedFacts {
  return { eventType: eventClass.representative, ...situation }
}

/** Example: `13 situations (every event type), such as party missing`. */
export function summariseCases(
  cases: readonly { readonly eventClass: EventClass; readonly situation: Situation }[],
  classes: readonly EventClass[],
): string {
  const situations = [...new Set(cases.map(({ situation }) => describeSituation(situation)))]
  const types = describeClasses(
    [...new Set(cases.map(({ eventClass }) => eventClass))],
    classes,
    NAMED_COUNT_MAX,
  )
  return situations.length === 1
    ? `${situations[0]} (${types})`
    : `${situations.length} situations (${types}), such as ${situations[0]}`
}
