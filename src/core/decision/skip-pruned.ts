import type { Decision } from './decide.ts'

/** Stands in for a rule where none decided; the table refuses a rule of this name. */
export const PRUNED_RULE_ID = '(pruned)'
const REASON = 'older than the last pruning'

/**
 * The decision on an event that is not logged, and older than what the last pruning deleted: it may have been told before,
 * as where a topic was created anew and filled from a copy. Nobody is told twice, and the log says why.
 */
export function skipPruned(decision: Decision): Decision {
  return { ...decision, ruleId: PRUNED_RULE_ID, outcome: 'SKIP', reason: REASON, failureReason: REASON }
}
