import { FACT_COLUMNS, type Situation } from '../decision/facts.ts'
import type { Outcome, RuleResult } from '../decision/result.ts'
import type { Channel } from '../party/channel.ts'
import type { SheetForm } from './read-sheet.ts'
import { WHEN_COLUMNS, type When } from './when.ts'

/** Column headings of the rule table, in their usual order. */
export const COLUMNS = ['rule', ...WHEN_COLUMNS, 'outcome', 'send by', 'reason', 'because'] as const
export type Column = (typeof COLUMNS)[number]

/** A table may lack the column of a fact, which then means any. */
export const RULE_SHEET: SheetForm<Column> = { what: 'rule', columns: COLUMNS, optional: FACT_COLUMNS }

export interface Rule {
  readonly id: string
  /** Line number in the file; the headings are line 1. */
  readonly row: number
  readonly when: When
  readonly outcome: Outcome
  /** Null means the preferred channel. Only a SEND has one. */
  readonly sendBy: Channel | null
  /** Null on SEND, text on SKIP and FAIL. */
  readonly reason: string | null
  readonly because: string
}

/** A rule of a past table, which another version may have written. */
export interface PastRule extends Omit<Rule, 'outcome'> {
  /** Null if this version cannot read it. */
  readonly outcome: Outcome | null
  /** Cells that this version cannot read, such as `"urgent" yes`. It knows neither when the rule applies nor what it decides. */
  readonly unread: readonly string[]
}

export function isReadable(rule: PastRule): rule is PastRule & Rule {
  return rule.unread.length === 0
}

export function decideByRule(rule: Rule, situation: Situation): RuleResult {
  return {
    ruleId: rule.id,
    outcome: rule.outcome,
    channel: rule.sendBy ?? situation.preferredChannel,
    reason: rule.reason,
  }
}
