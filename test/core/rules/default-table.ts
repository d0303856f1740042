import { readFileSync } from 'node:fs'
import { CHANNELS } from '../../../src/core/decision/channel.ts'
import type { Situation } from '../../../src/core/decision/facts.ts'
import { loadRuleTable } from '../../../src/core/rules/load-table.ts'
import { foldSituations } from '../../../src/core/rules/situations.ts'
import { createRuleTable, type RuleTable } from '../../../src/core/rules/table.ts'

// A copy of the table that was shipped first: a change of the one in rules/ is to change its outcomes, and no test.
export const FIRST_TABLE = readFileSync(new URL('first-table.csv', import.meta.url), 'utf8').trim()

/** These lines with a row for each channel that the copy does not know, above all that tests change: a new one leaves no gap. */
export function withLaterChannels(lines: readonly string[]): string[] {
  const later = CHANNELS.filter((channel) => !FIRST_TABLE.includes(channel))
  return lines.toSpliced(
    lines.findIndex((line) => line.startsWith('no-party,')) + 1,
    0,
    ...later.map((channel) => `not-${channel},,found,,${channel},,,SKIP,,not by ${channel},It came later.`),
  )
}

/** The line of headings, and the lines of the rules. */
export const [HEADINGS, ...DEFAULT_ROWS] = withLaterChannels(FIRST_TABLE.split('\n')) as [string, ...string[]]

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
