import { UNKNOWN_CHANNEL_RULE_ID } from '../decision/decide.ts'
import { FACT_COLUMNS, type Situation } from '../decision/facts.ts'
import type { Outcome, RuleResult } from '../decision/result.ts'
import { type Address, CHANNEL_KINDS, CHANNELS, type Channel, DEFAULT_CHANNEL } from '../party/channel.ts'
import type { SheetForm } from './read-sheet.ts'
import { WHEN_COLUMNS, type When } from './when.ts'

/** Column headings of the rule table, in their usual order. */
export const COLUMNS = ['rule', ...WHEN_COLUMNS, 'outcome', 'send by', 'reason', 'because'] as const
export type Column = (typeof COLUMNS)[number]

/** A missing column of a fact means any value. */
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
  /** Cells that this version cannot read, such as `"urgent" yes`. It cannot apply the rule then. */
  readonly unread: readonly string[]
}

export function isReadable(rule: PastRule): rule is PastRule & Rule {
  return rule.unread.length === 0
}

export const NO_RULE = 'no rule for this channel'

/** The result of a rule; without one, the event waits for a table that names its channel. */
export function decideByRule(rule: Rule | null, { preferredChannel }: Situation): RuleResult {
  if (rule === null)
    return { ruleId: UNKNOWN_CHANNEL_RULE_ID, outcome: 'FAIL', channel: preferredChannel, reason: NO_RULE }
  const { id, outcome, sendBy, reason } = rule
  return { ruleId: id, outcome, channel: sendBy ?? preferredChannel, reason }
}

/** The address that a message by this rule lacks; null if nothing is sent, or it lacks none. */
export function findMissingAddress(
  { outcome, sendBy }: Pick<PastRule, 'outcome' | 'sendBy'>,
  situation: Situation,
): Address | null {
  const { address } = CHANNEL_KINDS[sendBy ?? situation.preferredChannel]
  return outcome !== 'SEND' || address === null || situation[`${address}OnFile`] ? null : address
}

/** Channels that no rule names, such as those of a later version. Rules must know the default one: it needs no choice. */
export function listUnnamedChannels(rules: readonly Pick<Rule, 'when' | 'sendBy'>[]): readonly Channel[] {
  const named = rules.flatMap(({ when, sendBy }) => [when.preferredChannel, sendBy])
  return CHANNELS.filter((channel) => channel !== DEFAULT_CHANNEL && !named.includes(channel))
}
