import type { Channel } from '../decision/channel.ts'
import type { PartyState } from '../decision/facts.ts'
import type { Outcome } from '../decision/verdict.ts'
import type { RedriveResult } from '../event/rejected-message.ts'
import type { RuleHits } from '../rules/hits.ts'

/*
 * What the console is told, where that is not what the rest of the service has: the shapes of JSON. Times are ISO 8601,
 * and numbers that outgrow a JSON number are their digits.
 */

/** One page of a list. `nextCursor` asks for the next one. */
export interface Page<Item> {
  readonly items: readonly Item[]
  readonly nextCursor: string | null
}

/** One rule, with how often it decided. Null in what it looks at means any. */
export interface ShownRule {
  readonly ruleId: string
  readonly eventType: string | null
  readonly party: PartyState | null
  readonly optedOut: boolean | null
  readonly preferredChannel: Channel | null
  readonly emailOnFile: boolean | null
  readonly phoneOnFile: boolean | null
  readonly outcome: Outcome
  readonly sendBy: Channel | null
  readonly reason: string | null
  readonly because: string
  readonly count: number
  readonly lastAt: string | null
}

/** The rule table that decides now. `activation` is null where it was not written down when it came into force. */
export interface ShownRules {
  readonly revision: string
  readonly activation: { readonly activatedAt: string; readonly gitCommit: string | null } | null
  readonly counted: Omit<RuleHits, 'hits'>
  readonly rules: readonly ShownRule[]
}

/** A rejected message. `begin` holds its first bytes, in base64. */
export interface ShownRejected {
  readonly id: string
  readonly topic: string
  readonly partition: number
  readonly offset: string
  readonly code: string
  readonly error: string
  readonly rejectedAt: string
  readonly erasedAt: string | null
  readonly byteCount: number | null
  readonly begin: string | null
  readonly redriven: {
    readonly at: string
    readonly by: string
    readonly result: RedriveResult['result']
    readonly locator: string | null
  } | null
}
