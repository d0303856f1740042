import { readFileSync } from 'node:fs'
import { compileRuleTable } from '../../src/authoring/check/compile-table.ts'
import type { Situation } from '../../src/service/decide/decision/facts.ts'
import { loadPromises } from '../../src/service/decide/rules/load-promises.ts'
import { loadRuleTable } from '../../src/service/decide/rules/load-table.ts'
import { describeSituation, foldSituations } from '../../src/service/decide/rules/situations.ts'
import type { RuleTable } from '../../src/service/decide/rules/table.ts'

const rulesFile = (name: string) => readFileSync(new URL(`../first/rules/${name}`, import.meta.url), 'utf8')

export const DEFAULT_TABLE = rulesFile('dispatch.csv')
export const DEFAULT_PROMISES = rulesFile('promises.csv')
export const DEFAULT_OUTCOMES = rulesFile('outcomes.txt')

const RULES = loadRuleTable(DEFAULT_TABLE)
export const PROMISE_COUNT = loadPromises(DEFAULT_PROMISES, RULES).length

/** The situations that these rules tell apart. */
export const SITUATIONS: readonly Situation[] = foldSituations(RULES).situations

/** Those with these facts, in words. */
export function describeThose(facts: Partial<Situation>): readonly string[] {
  const those = SITUATIONS.filter((situation) =>
    Object.entries(facts).every(([key, value]) => situation[key as keyof Situation] === value),
  )
  return those.map((situation) => describeSituation(situation))
}

export function createTable(csvText: string): Promise<RuleTable> {
  return compileRuleTable(csvText, { eventTypes: [] })
}

/** The number of a rule's row in the file. */
export function findRow(ruleId: string, csvText = DEFAULT_TABLE): number {
  return csvText.split('\n').findIndex((line) => line.startsWith(`${ruleId},`)) + 1
}

/** The default table without this rule. */
export function without(ruleId: string): string {
  return DEFAULT_TABLE.replace(new RegExp(`^${ruleId},.*\n`, 'm'), '')
}
