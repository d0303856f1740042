import type { Channel } from './channel.ts'

/** What a rule does with an event. */
export const OUTCOMES = ['SEND', 'SKIP', 'FAIL'] as const
export type Outcome = (typeof OUTCOMES)[number]

/** What the rule table says of one situation. `channel` is the rule's "send by", else the preferred one. */
export interface RuleResult {
  readonly ruleId: string
  readonly outcome: Outcome
  readonly channel: Channel
  /** Short text for `failure_reason`; null where the rule gives none (a SEND). */
  readonly reason: string | null
}

/** What is done, in words: "SEND by EMAIL", "SKIP (party not found)". */
export function describeResult({ outcome, channel, reason }: RuleResult): string {
  if (outcome === 'SEND') return `SEND by ${channel}`
  return reason === null ? outcome : `${outcome} (${reason})`
}
