import { type Fault, wholeFault } from '../../text/faults.ts'
import { FACTS, type Situation } from '../decision/facts.ts'
import type { RuleResult } from '../decision/result.ts'
import { nameOfChannel } from '../party/channel.ts'
import { foldEventTypes } from './event-classes.ts'
import { eventTypeCells } from './event-type-cell.ts'
import { type Enumeration, type FirstMatch, toRuleFacts } from './first-match.ts'
import { EXPECTATIONS, type RulePromise } from './load-promises.ts'
import { firstMismatch } from './mismatch.ts'
import { decideByRule, findMissingAddress, type Rule } from './rule.ts'
import { foldSituations } from './situations.ts'

/**
 * True if every situation of a named channel has a rule, every rule applies somewhere, and nothing is sent to a member who cannot
 * be reached.
 */
export function isSoundTable(enumeration: Enumeration): boolean {
  return (
    listNeverApplying(enumeration).length === 0 &&
    listGaps(enumeration).length === 0 &&
    enumeration.answers.every((answer) => answer.rule === null || findWrongSend(answer.rule, answer) === null)
  )
}

/** The rules that decide no situation. */
export function listNeverApplying({ rules, answers }: Enumeration): Rule[] {
  const applying = new Set(answers.map(({ rule }) => rule))
  return rules.filter((rule) => !applying.has(rule))
}

/** Situations without a rule, except those of a channel that no rule names. */
export function listGaps({ answers, unnamed }: Enumeration): FirstMatch[] {
  return answers.filter(
    ({ rule, situation }) => rule === null && !unnamed.includes(situation.preferredChannel),
  )
}

/** A warning for each channel that no rule names: its members are not told. */
export function warnOfChannels({ answers, unnamed }: Enumeration): Fault[] {
  const undecided = unnamed.filter((channel) =>
    answers.some(({ rule, situation }) => rule === null && situation.preferredChannel === channel),
  )
  return undecided.map((channel) =>
    wholeFault(
      `no rule names the channel ${channel}: events of members who prefer it are FAILED and retried until one does`,
    ),
  )
}

/** True if the rules keep every promise, and every promise covers a case. */
export function keepsPromises(promises: readonly RulePromise[], enumeration: Enumeration): boolean {
  const cases = listCases(promises, enumeration)
  return promises.every((promise) => {
    const own = cases.filter((ruleCase) => covers(promise, ruleCase))
    return (
      own.length > 0 &&
      own.every(({ rule, situation }) => rule === null || keepsPromise(promise, rule, situation))
    )
  })
}

/** Every case that rules or promises distinguish, with the deciding rule. */
export function listCases(
  promises: readonly RulePromise[],
  { rules, answers, findPosition }: Enumeration,
): FirstMatch[] {
  const { classes } = foldEventTypes(eventTypeCells([...rules, ...promises]), [])
  const { situations } = foldSituations([...rules, ...promises])
  return classes.flatMap((eventClass) =>
    situations.map((situation) => {
      const position = findPosition(toRuleFacts({ eventClass, situation }))
      return { eventClass, situation, rule: answers[position]?.rule ?? null }
    }),
  )
}

type Case = Pick<FirstMatch, 'eventClass' | 'situation'>

/** True if the cells of a rule or promise describe a case, whichever rule decides it. */
export function covers(row: Pick<Rule, 'when'>, ruleCase: Case): boolean {
  return firstMismatch(row, toRuleFacts(ruleCase)) === null
}

/** The rules whose cells describe a case, from top to bottom. */
export function listCovering(rules: readonly Rule[], ruleCase: Case): Rule[] {
  const facts = toRuleFacts(ruleCase)
  return rules.filter((rule) => firstMismatch(rule, facts) === null)
}

/** True if a rule's result in a situation meets a promise. */
export function keepsPromise(promise: RulePromise, rule: Rule, situation: Situation): boolean {
  const result: RuleResult = decideByRule(rule, situation)
  const { expected, sendBy, reason } = promise
  return (
    EXPECTATIONS.get(expected)?.(result) === true &&
    (sendBy === null || sendBy === result.channel) &&
    (reason === null || reason === result.reason)
  )
}

/** A fact that a rule should ask for, and how an author writes it, such as `"found" as its party`. */
export interface Cell {
  readonly fact: keyof Situation
  readonly value: Situation[keyof Situation]
  readonly words: string
}

/** Null if a rule sends nothing, or to a member who can be reached. `cell` would correct it. */
export function findWrongSend(
  rule: Rule,
  { situation }: Pick<FirstMatch, 'situation'>,
): { readonly words: string; readonly cell: Cell } | null {
  if (rule.outcome !== 'SEND') return null
  if (situation.party !== 'found') {
    const cell = { fact: 'party', value: 'found', words: '"found" as its party' } as const
    return { words: `rule "${rule.id}" sends without a found party`, cell }
  }
  const address = findMissingAddress(rule, situation)
  if (address === null) return null
  const channel = nameOfChannel(rule.sendBy ?? situation.preferredChannel)
  const { column } = FACTS[`${address}OnFile`]
  const words = `rule "${rule.id}" sends by ${channel} with no ${column}`
  return {
    words,
    cell: { fact: `${address}OnFile`, value: true, words: `"yes" as its ${column}` },
  }
}
