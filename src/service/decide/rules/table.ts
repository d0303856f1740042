import { wholeFault } from '../../text/faults.ts'
import type { RuleFacts } from '../decision/facts.ts'
import type { RuleResult } from '../decision/result.ts'
import type { Enumeration } from './first-match.ts'
import { isSoundTable } from './judge-rules.ts'
import { decideByRule, type Rule } from './rule.ts'
import { RuleTableError } from './table-errors.ts'

/** Without the list of faults, which only authors need. */
const CHECK =
  'it leaves a situation without a rule, sends to nobody, or has a rule that never applies: run `rules check`'

export interface RuleTable {
  /** SHA-256 of `source`, in hex. */
  readonly revision: string
  readonly source: string
  readonly rules: readonly Rule[]
  readonly decide: (facts: RuleFacts) => RuleResult
}

/** The table of enumerated rules. Throws RuleTableError if they are not sound; `rules check` lists the faults. */
export function enumeratedTable(enumeration: Enumeration, source: string, revision: string): RuleTable {
  if (!isSoundTable(enumeration)) throw new RuleTableError([wholeFault(CHECK)])
  const { rules, answers, findPosition } = enumeration
  const results = answers.map(({ rule, situation }) => Object.freeze(decideByRule(rule, situation)))
  return { revision, source, rules, decide: (facts) => results[findPosition(facts)] as RuleResult }
}
