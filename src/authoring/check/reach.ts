import { type Enumeration, type FirstMatch, toRuleFacts } from '../../service/decide/rules/first-match.ts'
import { firstMismatch } from '../../service/decide/rules/mismatch.ts'
import type { Rule } from '../../service/decide/rules/rule.ts'
import { counted } from '../../service/text/count.ts'
import type { Fault } from '../../service/text/faults.ts'
import type { FindWrong } from './find-remedy.ts'

// What a rule decides of all that its cells describe: rows above may take part of it. A case is a situation of an event type.

const NAMED_COUNT_MAX = 4

/** The rules that a change adds, rewrites or moves; others only make room for them. */
export function changedRules(before: readonly Rule[], after: readonly Rule[]): readonly Rule[] {
  const [idsBefore, ids] = [before, after].map((rules) => rules.map(({ id }) => id)) as [string[], string[]]
  const isEqualWithout = (one: string) => {
    const others = (list: readonly string[], known: readonly string[]) =>
      list.filter((id) => id !== one && known.includes(id)).join('\n')
    return others(idsBefore, ids) === others(ids, idsBefore)
  }
  const isSameOrder = isEqualWithout('')
  return after.filter((rule) => {
    const old = before.find(({ id }) => id === rule.id)
    return (
      old === undefined ||
      JSON.stringify(old.when) !== JSON.stringify(rule.when) ||
      (!isSameOrder && isEqualWithout(rule.id))
    )
  })
}

/** Warns of each changed rule that decides a part of what its cells describe; of one that decides nothing, a fault tells. */
export function findShortReach(
  rules: readonly Rule[],
  answers: readonly FirstMatch[],
  before: readonly Rule[],
): Fault[] {
  return changedRules(before, rules).flatMap((rule) => {
    const described = answers.filter((answer) => firstMismatch(rule, toRuleFacts(answer)) === null)
    const taken = described.filter((answer) => answer.rule !== rule)
    if (taken.length === 0 || taken.length === described.length) return []
    const takers = [...Map.groupBy(taken, (answer) => answer.rule)].flatMap(([taker, some]) =>
      taker === null ? [] : [[taker.id, some.length] as const],
    )
    const all = described.length
    const left = all - taken.length
    const text = `rule "${rule.id}" ${describeReach(left, counted(all, 'case'), takers)}`
    return [{ row: rule.row, column: null, text }]
  })
}

/** Example: `decides 4 of the 8 cases that its cells describe; rows above take the others: "email" 2, "sms" 2`. */
export function describeReach(
  decided: number,
  all: string,
  takers: readonly (readonly [ruleId: string, count: number])[],
): string {
  const named = takers
    .toSorted(([, one], [, other]) => other - one)
    .slice(0, NAMED_COUNT_MAX)
    .map(([id, count]) => `"${id}" ${count.toLocaleString('en')}`)
  const more = takers.length - named.length
  const list = [...named, ...(more > 0 ? [`${more} more`] : [])].join(', ')
  return `decides ${decided.toLocaleString('en')} of the ${all} that its cells describe; rows above take the others: ${list}`
}

/**
 * The places at which a rule that never applies would, in words, the one with the greatest effect first. `described`: the cases that its
 * cells describe, all of which rows above decide. Left out are places where it would decide something wrongly.
 */
export function describePlaces(
  rule: Rule,
  described: readonly FirstMatch[],
  { rules, answers }: Pick<Enumeration, 'rules' | 'answers'>,
  findWrong: FindWrong,
): string {
  const all = described.length
  const takers = [...new Set(described.flatMap((answer) => answer.rule ?? []))].toSorted(
    (one, other) => one.row - other.row,
  )
  const places = takers.flatMap((taker) => {
    const above = rules.filter(({ row }) => row < taker.row)
    const gained = new Set(
      described.filter((answer) =>
        above.every((other) => firstMismatch(other, toRuleFacts(answer)) !== null),
      ),
    )
    if ([...gained].some((answer) => findWrong(rule, answer) !== null)) return []
    const lost = takers.filter((other) =>
      answers.every((answer) => answer.rule !== other || gained.has(answer)),
    )
    const count = gained.size
    const effect =
      count === all
        ? `for all it describes (${counted(all, 'case')})`
        : `for ${count} of the ${counted(all, 'case')}`
    const names = lost.map(({ id }) => `"${id}"`).join(' and ')
    const loss = lost.length === 0 ? '' : `, which leaves nothing to ${names}`
    return [`above row ${taker.row} ("${taker.id}") ${effect}${loss}`]
  })
  return places.length === 0
    ? 'fill in other cells, or delete it'
    : `move it ${places.slice(0, NAMED_COUNT_MAX).join(', or ')}, or delete it`
}
