import type { Decision } from './decide.ts'

/** Stands in for a rule where none decided; the table refuses a rule of this name. */
export const PRUNED_RULE_ID = '(pruned)'
const REASON = 'older than the last pruning'

export interface Logged {
  readonly eventIds: ReadonlySet<string>
  readonly pruned: readonly Pruned[]
}

/** The part of a partition that a pruning may have deleted. An event that was unread by then is told, however old it is. */
export interface Pruned {
  /** Events published before this, in ms since 1970. */
  readonly beforeMs: number
  /** The checkpoint then: all up to here had been processed. */
  readonly through: bigint
}

/** September 2001. An earlier timestamp is unset, or in seconds. */
const PLAUSIBLE_MS = 1_000_000_000_000n

/** True if an event without a row may have had one that was pruned. `timestampMs` is undefined if unknown. */
export function isPruned(
  prunings: readonly Pruned[],
  offset: bigint,
  timestampMs: bigint | undefined,
): boolean {
  if (timestampMs === undefined || timestampMs < PLAUSIBLE_MS) return false
  return prunings.some(({ beforeMs, through }) => offset <= through && timestampMs < beforeMs)
}

/**
 * The decision on an event that is not logged, and older than what the last pruning deleted: it may have been told before,
 * as where a topic was created anew and filled from a copy. Nobody is told twice, and the log says why.
 */
export function skipPruned(decision: Decision): Decision {
  return { ...decision, ruleId: PRUNED_RULE_ID, outcome: 'SKIP', reason: REASON, failureReason: REASON }
}
