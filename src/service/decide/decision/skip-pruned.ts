import type { Decision } from './decide.ts'
import { OTHER_VERSION_RULE_IDS } from './decide.ts'

/** Stands in for a rule if none decided; a rule table cannot contain a rule with this name. */
export const PRUNED_RULE_ID = '(pruned)'
/** The names that stand in for a rule where none decided. */
export const WITHOUT_RULE: readonly string[] = [PRUNED_RULE_ID, ...OTHER_VERSION_RULE_IDS]
const REASON = 'older than the last pruning'

/** The part of a partition that a pruning may have deleted. An event that was unprocessed by then is sent, however old. */
export interface PrunedPart {
  /** Events published before this time, in ms since 1970. */
  readonly beforeMs: number
  /** The checkpoint at that time: all offsets up to it had been processed. */
  readonly through: bigint
}

/** September 2001. An earlier timestamp is unset, or in seconds. */
const PLAUSIBLE_MS = 1_000_000_000_000n

/** True if an event without a row may have had one that was pruned. `timestampMs` is undefined if unknown. */
export function isPruned(
  prunings: readonly PrunedPart[],
  offset: bigint,
  timestampMs: bigint | undefined,
): boolean {
  if (timestampMs === undefined || timestampMs < PLAUSIBLE_MS) return false
  return prunings.some(({ beforeMs, through }) => offset <= through && timestampMs < beforeMs)
}

/**
 * Skips an unlogged event older than the last pruning: its member may have been told before, for example if the topic was recreated
 * from a copy.
 */
export function skipPruned(decision: Decision): Decision {
  return { ...decision, ruleId: PRUNED_RULE_ID, outcome: 'SKIP', reason: REASON, failureReason: REASON }
}
