import type { RuleFacts } from '../decision/facts.ts'
import type { RuleResult } from '../decision/result.ts'
import { RuleTableError } from './errors.ts'
import { findFaults } from './find-faults.ts'
import { type Enumeration, enumerate } from './first-match.ts'
import { loadRuleTable } from './load-table.ts'
import { decideByRule, type Rule } from './rule.ts'

export interface RuleTable {
  /** SHA-256 of `source`, in hex. */
  readonly revision: string
  readonly source: string
  readonly rules: readonly Rule[]
  readonly decide: (facts: RuleFacts) => RuleResult
}

/**
 * Loads a rule table: the rules engine decides every situation of every event class once. `sha256` returns the hash of a text's
 * UTF-8 bytes in hex. Throws RuleTableError with all faults: those of the file, or else situations without a rule, a SEND to
 * nobody, and rules that never apply.
 */
export async function createRuleTable(
  csvText: string,
  knownEventTypes: readonly string[],
  sha256: (text: string) => string,
): Promise<RuleTable> {
  const rules = loadRuleTable(csvText, knownEventTypes)
  return enumeratedTable(await enumerate(rules, knownEventTypes), csvText, sha256(csvText))
}

/** The table of enumerated rules. Throws RuleTableError. */
export function enumeratedTable(enumeration: Enumeration, source: string, revision: string): RuleTable {
  const faults = findFaults(enumeration)
  if (faults.length > 0) throw new RuleTableError(faults)

  // Every answer has a rule: a gap is a fault.
  const { rules, answers, findPosition } = enumeration
  const results = answers.map(({ rule, situation }) => Object.freeze(decideByRule(rule as Rule, situation)))
  return { revision, source, rules, decide: (facts) => results[findPosition(facts)] as RuleResult }
}
