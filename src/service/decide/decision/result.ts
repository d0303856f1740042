import { type Channel, nameOfChannel } from '../party/channel.ts'

export const OUTCOMES = ['SEND', 'SKIP', 'FAIL'] as const
export type Outcome = (typeof OUTCOMES)[number]

/** The rule table's answer for one situation. `channel` is the rule's "send by", else the preferred one. */
export interface RuleResult {
  readonly ruleId: string
  readonly outcome: Outcome
  readonly channel: Channel
  /** Short text for `failure_reason`; null on SEND. */
  readonly reason: string | null
}

/** A result as recorded, perhaps by another version: it may know other outcomes and channels. */
export interface RecordedResult {
  readonly ruleId: string
  readonly outcome: string
  readonly channel: string
  readonly reason: string | null
}

/** An outcome in words: "SEND by email", "SKIP (party not found)". */
export function describeResult({ outcome, channel, reason }: RecordedResult): string {
  if (outcome === 'SEND') return `SEND by ${nameOfChannel(channel)}`
  return reason === null ? outcome : `${outcome} (${reason})`
}

/** A result of this version. It sends only by channels that it knows. */
export type DecidedResult =
  | RuleResult
  | (Omit<RuleResult, 'outcome' | 'channel'> & {
      readonly outcome: Exclude<Outcome, 'SEND'>
      readonly channel: string
    })
