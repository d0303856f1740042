import { z } from 'zod'
import { PRUNED_RULE_ID } from '../decision/skip-pruned.ts'
import { logEntry } from '../log/log-entry.ts'
import type { Variables } from '../templates/template.ts'
import { type DueEntry, dueEntry } from './due-entry.ts'

/** A row that an operator asks to retry, with data from its last decision. */
export const retryCandidate = dueEntry.extend(logEntry.pick({ status: true, createdAt: true }).shape).extend({
  /** FAILED, and past its last retry. */
  isGivenUp: z.boolean(),
  /** The row or its party was erased at some time. */
  isErased: z.boolean(),
  /** Null if no decision explains the row. */
  decision: z
    .object({
      ruleId: z.string(),
      hasInvalidLocator: z.boolean(),
      /** Null if erased. */
      variables: z.custom<Variables | null>((variables) => typeof variables === 'object'),
    })
    .nullable(),
})
export type RetryCandidate = Readonly<z.infer<typeof retryCandidate>>

export function findRefusal(candidate: RetryCandidate): string | null {
  const { status, isGivenUp, isErased, decision } = candidate
  if (status === 'SENT') return 'it was sent'
  if (status === 'FAILED' && !isGivenUp) return 'the service still retries it by itself'
  if (isErased) return 'it was erased, or its party was'
  if (decision === null) return 'no decision explains it'
  if (decision.ruleId === PRUNED_RULE_ID) return 'its member may have been told before a pruning'
  if (status === 'SKIPPED' && decision.variables === null)
    return 'what its text is rendered from is not stored'
  return null
}

/** A candidate as a due entry. A skipped row stores no text: the templates in force render it from its variables. */
export function toDueEntry(candidate: RetryCandidate): DueEntry {
  const { status, decision } = candidate
  if (status === 'FAILED') return candidate
  if (decision === null || decision.variables === null)
    throw new Error(`${candidate.locator} has no variables to render`)
  return { ...candidate, variables: decision.variables, isPartyInvalid: decision.hasInvalidLocator }
}
