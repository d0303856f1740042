import { OUTCOMES } from '../../service/decide/decision/result.ts'
import type { Enumeration } from '../../service/decide/rules/first-match.ts'
import { covers, keepsPromise, listCases } from '../../service/decide/rules/judge-rules.ts'
import type { RulePromise } from '../../service/decide/rules/load-promises.ts'
import type { Rule } from '../../service/decide/rules/rule.ts'

/** The rules whose outcome could change to any other without breaking a promise. */
export function findUnguarded(promises: readonly RulePromise[], enumeration: Enumeration): readonly Rule[] {
  const guarded = new Set<Rule>()
  for (const { rule, ...answer } of listCases(promises, enumeration)) {
    if (rule === null || guarded.has(rule)) continue
    const covering = promises.filter((promise) => covers(promise, answer))
    const breaks = (flipped: Rule) =>
      covering.some((promise) => !keepsPromise(promise, flipped, answer.situation))
    if (flip(rule).some(breaks)) guarded.add(rule)
  }
  return enumeration.rules.filter((rule) => !guarded.has(rule))
}

function flip(rule: Rule): Rule[] {
  return OUTCOMES.filter((outcome) => outcome !== rule.outcome).map((outcome) => ({
    ...rule,
    outcome,
    sendBy: null,
  }))
}

/** One phrase that names each rule with its row. */
export function describeUnguarded(rules: readonly Rule[]): string {
  if (rules.length === 0) return 'a promise guards every rule'
  const named = rules.map(({ id, row }) => `"${id}" (row ${row})`).join(', ')
  return `no promise guards ${named}: with any other outcome all promises would be kept`
}
