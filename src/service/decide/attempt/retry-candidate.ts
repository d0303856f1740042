import { z } from 'zod'
import { logEntry } from '../../model/log/log-entry.ts'
import { decide } from '../decision/decide.ts'
import { readStated } from '../decision/facts.ts'
import { storedFacts, storedVariables } from '../decision/recorded-decision.ts'
import { PRUNED_RULE_ID } from '../decision/skip-pruned.ts'
import { mapAddresses } from '../party/channel.ts'
import type { FoundContact } from '../party/contact.ts'
import type { Preferences } from '../party/preferences.ts'
import { retryEntry } from './retry-entry.ts'

/** A row whose retry was requested, with data from its last decision. */
const { createdAt, failureReason } = logEntry.shape
export const retryCandidate = retryEntry.extend({ createdAt, failureReason }).extend({
  /** FAILED, and past its last retry. */
  isGivenUp: z.boolean(),
  /** The row or its party was erased at some time. */
  isErased: z.boolean(),
  /** Null if no decision explains the row. */
  decision: z
    .object({
      ruleId: z.string(),
      reason: z.string().nullable(),
      facts: storedFacts,
      /** Null if erased. */
      variables: storedVariables.nullable(),
      topic: z.string(),
      partition: z.int(),
      offset: z.coerce.bigint(),
      envelopeMapRevision: z.string().nullable(),
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

/** The reason why an entry's message must not be read again, or null. */
export function findReadingRefusal({ status, sendCount }: RetryCandidate): string | null {
  if (status !== 'SKIPPED') return 'only skipped entries are read again'
  // The member named before may have received it.
  return sendCount > 0 ? 'it was sent once, without success: retry it as it is' : null
}

/** Even a member with every address on file would be skipped. */
const ALL_ON_FILE: FoundContact = { state: 'found', ...mapAddresses(() => 'on file') }

/** The reason why a retry would skip an entry again whatever the look-up returns; null if it may be sent. */
export function findSkipReason(
  decideByRules: Parameters<typeof decide>[0],
  { decision, ...candidate }: RetryCandidate,
  preferences: Preferences | undefined,
): string | null {
  const subject = { ...candidate, stated: decision === null ? {} : readStated(decision) }
  const contact = candidate.partyLocator === null ? undefined : ALL_ON_FILE
  const { outcome, failureReason } = decide(decideByRules, subject, contact, preferences)
  return outcome === 'SKIP' ? `it would be skipped again: ${failureReason}` : null
}
