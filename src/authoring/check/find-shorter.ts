import { FACT_LIST } from '../../service/decide/decision/facts.ts'
import { type EventTypeCell, parseEventTypeCell } from '../../service/decide/rules/event-type-cell.ts'
import { type Enumeration, type FirstMatch, toRuleFacts } from '../../service/decide/rules/first-match.ts'
import { firstMismatch } from '../../service/decide/rules/mismatch.ts'
import { decideByRule, type Rule } from '../../service/decide/rules/rule.ts'
import type { When } from '../../service/decide/rules/when.ts'
import { decidedAlike } from '../diff/compare-tables.ts'

/** A shorter table with the same decisions: `row` is deleted, after another row got another cell. */
export interface Shorter {
  readonly row: number
  readonly text: string
  readonly edit: { readonly row: number; readonly column: string; readonly cell: string } | null
}

/** Rows whose deletion changes no decision, and pairs of rows that one could replace. Each hint holds for the table as it is. */
export function findShorter({ rules, answers }: Enumeration): Shorter[] {
  const isSame = (others: readonly Rule[]) => {
    const applying = new Set(answers.map((answer) => firstOf(others, answer)))
    return others.every((one) => applying.has(one)) && answers.every((answer) => decidesAlike(others, answer))
  }
  const deletable = rules.filter((rule) => {
    const below = rules.filter(({ row }) => row > rule.row)
    return answers.every((answer) => answer.rule !== rule || decidesAlike(below, answer))
  })
  const deletions = deletable.map(({ id, row }) => ({
    row,
    text: `without rule "${id}" every decision would be the same, by rules below it`,
    edit: null,
  }))
  const merges = rules.flatMap((rule, index) =>
    deletable.includes(rule)
      ? []
      : rules.slice(index + 1).flatMap((other): Shorter[] => {
          const merged = deletable.includes(other) ? null : mergedCell(rule, other)
          if (merged === null) return []
          const { column, cell, when } = merged
          const place = [rule, other].find((kept) =>
            isSame(
              rules.flatMap((one) =>
                one === kept ? [{ ...rule, when }] : one === rule || one === other ? [] : [one],
              ),
            ),
          )
          if (place === undefined) return []
          const gone = place === rule ? other : rule
          const written = cell === '' ? `a blank cell` : `"${cell}"`
          const text = `rules "${rule.id}" and "${other.id}" could be one: in row ${place.row}, write ${written} as ${column}, and delete row ${gone.row}`
          return [{ row: gone.row, text, edit: { row: place.row, column, cell } }]
        }),
  )
  return [...deletions, ...merges]
}

function firstOf(rules: readonly Rule[], answer: FirstMatch): Rule | undefined {
  const facts = toRuleFacts(answer)
  return rules.find((candidate) => firstMismatch(candidate, facts) === null)
}

function decidesAlike(rules: readonly Rule[], { rule, ...one }: FirstMatch): boolean {
  const now = firstOf(rules, { rule, ...one })
  return rule === null || now === undefined
    ? rule === null && now === undefined
    : decidedAlike(decideByRule(rule, one.situation), decideByRule(now, one.situation))
}

/** The cell that stands for those of both rules, if they decide the same and differ in one condition; null if no cell can. */
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
