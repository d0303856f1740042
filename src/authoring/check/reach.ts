import type { RuleResult } from '../../service/decide/decision/result.ts'
import type { Enumeration, FirstMatch } from '../../service/decide/rules/first-match.ts'
import { covers, listCovering } from '../../service/decide/rules/judge-rules.ts'
import { decideByRule, type Rule } from '../../service/decide/rules/rule.ts'
import { counted } from '../../service/text/count.ts'
import type { Fault } from '../../service/text/faults.ts'
import type { FindWrong } from './find-remedy.ts'

// The share of the cases described by a rule's cells that the rule decides; rows above may decide the rest. A case is a situation of an
// event type.

const NAMED_COUNT_MAX = 4

/** The rules that a change adds, rewrites or moves, without those that only make room or have a new name. */
export function changedRules(before: readonly Rule[], after: readonly Rule[]): readonly Rule[] {
  const idsBefore = before.map(({ id }) => id)
  const oldIds = new Map(after.map((rule) => [rule, findOldId(rule, before, after)]))
  const ids = [...oldIds.values()]
  const isEqualWithout = (ruleId: string) => {
    const listOthers = (list: readonly string[], known: readonly string[]) =>
      list.filter((id) => id !== ruleId && known.includes(id)).join('\n')
    return listOthers(idsBefore, ids) === listOthers(ids, idsBefore)
  }
  const isSameOrder = isEqualWithout('')
  return after.filter((rule) => {
    const oldId = oldIds.get(rule)
    const old = before.find(({ id }) => id === oldId)
    return (
      old === undefined ||
      JSON.stringify(old.when) !== JSON.stringify(rule.when) ||
      (!isSameOrder && isEqualWithout(old.id))
    )
  })
}

/** The former id of a renamed rule: that of a deleted rule with the same cells. */
function findOldId(rule: Rule, before: readonly Rule[], after: readonly Rule[]): string {
  const isNamed = (rules: readonly Rule[], id: string) => rules.some((rule) => rule.id === id)
  const cells = cellsKey(rule)
  const renamed = isNamed(before, rule.id)
    ? undefined
    : before.find((old) => !isNamed(after, old.id) && cellsKey(old) === cells)
  return renamed?.id ?? rule.id
}

function cellsKey({ when, outcome, sendBy }: Rule): string {
  return JSON.stringify([when, outcome, sendBy])
}

/**
 * Warns of changed rules if rows above decide some of their cases, with another result for members. A rule that decides nothing is
 * a fault instead.
 */
export function findShortReach(
  rules: readonly Rule[],
  answers: readonly FirstMatch[],
  before: readonly Rule[],
  findWrong: FindWrong,
): Fault[] {
  return changedRules(before, rules).flatMap((rule) => {
    const described = answers.filter((answer) => covers(rule, answer))
    const taken = described.filter((answer) => answer.rule !== rule)
    const isLost = (answer: FirstMatch) =>
      answer.rule !== null &&
      findWrong(rule, answer) === null &&
      !isSameForMember(decideByRule(answer.rule, answer.situation), decideByRule(rule, answer.situation))
    if (taken.length === described.length || !taken.some(isLost)) return []
    const takers = [...Map.groupBy(taken, (answer) => answer.rule)].flatMap(([taker, answers]) =>
      taker === null ? [] : [[taker.id, answers.length] as const],
    )
    const total = described.length
    const left = total - taken.length
    const text = `rule "${rule.id}" ${describeReach(left, counted(total, 'case'), takers)}`
    return [{ row: rule.row, column: null, text }]
  })
}

/** True if a member notices no difference: the reasons of messages that are not sent may differ. */
function isSameForMember(a: RuleResult, b: RuleResult): boolean {
  return a.outcome === b.outcome && (a.outcome !== 'SEND' || a.channel === b.channel)
}

/** Example: `decides 4 of the 8 cases that its cells describe; rows above take the others: "email" 2, "sms" 2`. */
export function describeReach(
  decided: number,
  total: string,
  takers: readonly (readonly [ruleId: string, count: number])[],
): string {
  const named = takers
    .toSorted(([, a], [, b]) => b - a)
    .slice(0, NAMED_COUNT_MAX)
    .map(([id, count]) => `"${id}" ${count.toLocaleString('en')}`)
  const more = takers.length - named.length
  const list = [...named, ...(more > 0 ? [`${more} more`] : [])].join(', ')
  return `decides ${decided.toLocaleString('en')} of the ${total} that its cells describe; rows above take the others: ${list}`
}

/**
 * The places at which a rule that never applies would apply, in words, greatest effect first. `described`: the cases described by
 * its cells, all decided by rows above. Omits places where it would decide something wrongly.
 */
export function describePlaces(
  rule: Rule,
  described: readonly FirstMatch[],
  { rules, answers }: Pick<Enumeration, 'rules' | 'answers'>,
  findWrong: FindWrong,
): string {
  const total = described.length
  const decided = described.map((answer) => ({ answer, first: listCovering(rules, answer)[0] }))
  const takers = [...new Set(described.flatMap((answer) => answer.rule ?? []))].toSorted(
    (a, b) => a.row - b.row,
  )
  const places = takers.flatMap((taker) => {
    const gained = new Set(
      decided.flatMap(({ answer, first }) => (first === undefined || first.row >= taker.row ? [answer] : [])),
    )
    if ([...gained].some((answer) => findWrong(rule, answer) !== null)) return []
    const lost = takers.filter((other) =>
      answers.every((answer) => answer.rule !== other || gained.has(answer)),
    )
    const count = gained.size
    const effect =
      count === total
        ? `for all it describes (${counted(total, 'case')})`
        : `for ${count} of the ${counted(total, 'case')}`
    const names = lost.map(({ id }) => `"${id}"`).join(' and ')
    const loss = lost.length === 0 ? '' : `, which leaves nothing to ${names}`
    return [`above row ${taker.row} ("${taker.id}") ${effect}${loss}`]
  })
  return places.length === 0
    ? 'fill in other cells, or delete it'
    : `move it ${places.slice(0, NAMED_COUNT_MAX).join(', or ')}, or delete it`
}
