import { FACT_LIST, type RuleFacts } from '../../service/decide/decision/facts.ts'
import { type EventTypeCell, parseEventTypeCell } from '../../service/decide/rules/event-type-cell.ts'
import { type Enumeration, type FirstMatch, toRuleFacts } from '../../service/decide/rules/first-match.ts'
import { listCovering } from '../../service/decide/rules/judge-rules.ts'
import { firstMismatch } from '../../service/decide/rules/mismatch.ts'
import { decideByRule, type Rule } from '../../service/decide/rules/rule.ts'
import type { When } from '../../service/decide/rules/when.ts'
import { decidedAlike } from '../diff/compare-tables.ts'

/** A shorter table with the same decisions: `row` is deleted once a cell of another row is changed. */
export interface Shorter {
  readonly row: number
  readonly text: string
  readonly edit: { readonly row: number; readonly column: string; readonly cell: string } | null
}

/**
 * Rows whose deletion changes no decision, and pairs of rows that one row could replace. Each hint holds for the present table, and
 * each row is in one hint only: for twenty equal rows ten hints suffice.
 */
export function findShorter({ rules, answers }: Enumeration): Shorter[] {
  const cases = answers.map(
    (answer): Covered => ({
      ...answer,
      facts: toRuleFacts(answer),
      covering: listCovering(rules, answer),
    }),
  )
  const deletable = rules.filter((rule) =>
    cases.every(
      (covered) =>
        covered.rule !== rule ||
        decidesAlike(
          covered,
          covered.covering.find(({ row }) => row > rule.row),
        ),
    ),
  )
  const deletions = deletable.map(({ id, row }) => ({
    row,
    text: `without rule "${id}" every decision would be the same, by rules below it`,
    edit: null,
  }))
  const hinted = new Set(deletable)
  const merges: Shorter[] = []
  for (const [index, rule] of rules.entries()) {
    if (hinted.has(rule)) continue
    for (const other of rules.slice(index + 1)) {
      const merge = hinted.has(other) ? null : findMerge(rule, other, rules.length, cases)
      if (merge === null) continue
      merges.push(merge)
      hinted.add(rule).add(other)
      break
    }
  }
  return [...deletions, ...merges]
}

interface Covered extends FirstMatch {
  readonly facts: RuleFacts
  readonly covering: readonly Rule[]
}

/** A row that replaces both rules without a change, and hides no rule; null without one. */
function findMerge(rule: Rule, other: Rule, ruleCount: number, cases: readonly Covered[]): Shorter | null {
  const merged = mergedCell(rule, other)
  if (merged === null) return null
  const { column, cell, when } = merged
  const isSame = (kept: Rule) => {
    const applying = new Set<Rule>()
    const isAlike = (covered: Covered) => {
      const rest = covered.covering.find((next) => next !== rule && next !== other)
      const isFirst =
        (rest === undefined || kept.row < rest.row) && firstMismatch({ when }, covered.facts) === null
      const now = isFirst ? kept : rest
      if (now !== undefined) applying.add(now)
      return decidesAlike(covered, now)
    }
    return cases.every(isAlike) && applying.size === ruleCount - 1
  }
  const place = [rule, other].find(isSame)
  if (place === undefined) return null
  const gone = place === rule ? other : rule
  const written = cell === '' ? `a blank cell` : `"${cell}"`
  const text = `rules "${rule.id}" and "${other.id}" could be one: in row ${place.row}, write ${written} as ${column}, and delete row ${gone.row}`
  return { row: gone.row, text, edit: { row: place.row, column, cell } }
}

function decidesAlike({ rule, situation }: FirstMatch, now: Rule | undefined): boolean {
  return rule === null || now === undefined
    ? rule === null && now === undefined
    : decidedAlike(decideByRule(rule, situation), decideByRule(now, situation))
}

/** The cell that covers both rules, if they decide the same and differ in one condition; null if no cell can. */
function mergedCell(
  one: Rule,
  other: Rule,
): { readonly column: string; readonly cell: string; readonly when: When } | null {
  if (one.outcome !== other.outcome || one.sendBy !== other.sendBy || one.reason !== other.reason) return null
  const differing = FACT_LIST.filter(([key]) => one.when[key] !== other.when[key])
  const isOtherType = one.when.eventType?.text !== other.when.eventType?.text
  if (differing.length + (isOtherType ? 1 : 0) !== 1) return null
  if (isOtherType) {
    const text = joined(one.when.eventType, other.when.eventType)
    return text === null
      ? null
      : { column: 'event type', cell: text, when: { ...one.when, eventType: parseEventTypeCell(text, []) } }
  }
  const [[key, { column, values }]] = differing as [(typeof FACT_LIST)[number]]
  const named: readonly unknown[] = [one.when[key], other.when[key]]
  const isAll = values.every((value) => named.includes(value)) || named.includes(null)
  return isAll ? { column, cell: '', when: { ...one.when, [key]: null } } : null
}

/** Only lists of names and wildcards can be joined. */
function joined(one: EventTypeCell | null, other: EventTypeCell | null): string | null {
  if (one === null || other === null) return null
  const isList = ({ negated, text, names, prefixes }: EventTypeCell) =>
    !negated && text.split(' or ').length === names.length + prefixes.length
  if (!isList(one) || !isList(other)) return null
  const items = [...one.text.split(' or '), ...other.text.split(' or ')]
  return new Set(items).size === items.length ? items.join(' or ') : null
}
