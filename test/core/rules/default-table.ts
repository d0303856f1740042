import { readFileSync } from 'node:fs'
import type { Situation } from '../../../src/core/decision/facts.ts'
import { loadRuleTable } from '../../../src/core/rules/load-table.ts'
import { foldSituations } from '../../../src/core/rules/situations.ts'
import { createRuleTable, type RuleTable } from '../../../src/core/rules/table.ts'

const rulesFile = (name: string) =>
  readFileSync(new URL(`../../first/rules/${name}`, import.meta.url), 'utf8')

export const DEFAULT_TABLE = rulesFile('dispatch.csv')
export const DEFAULT_PROMISES = rulesFile('promises.csv')
export const DEFAULT_OUTCOMES = rulesFile('outcomes.txt')

/** The line of headings, and the lines of the rules. */
export const [HEADINGS, ...DEFAULT_ROWS] = DEFAULT_TABLE.trim().split('\n') as [string, ...string[]]

/** The situations that these rules tell apart. */
export const SITUATIONS: readonly Situation[] = foldSituations(
  loadRuleTable([HEADINGS, ...DEFAULT_ROWS].join('\n')).rules,
).situations

/** A table of these lines under the usual headings. */
export function tableOf(rows: readonly string[]): Promise<RuleTable> {
  return createRuleTable([HEADINGS, ...rows].join('\n'), [], () => 'revision')
}

/** The number of a rule's row in the file of these lines. */
export function rowOf(ruleId: string, lines: readonly string[] = DEFAULT_ROWS): number {
  return lines.findIndex((line) => line.startsWith(`${ruleId},`)) + 2
}

/** The lines of the rules with others above the one of this id. */
export function above(ruleId: string, ...rows: string[]): string[] {
  return DEFAULT_ROWS.toSpliced(
    DEFAULT_ROWS.findIndex((row) => row.startsWith(`${ruleId},`)),
    0,
    ...rows,
  )
}
