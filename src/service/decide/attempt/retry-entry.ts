import { z } from 'zod'
import { logEntry } from '../../model/log/log-entry.ts'
import type { Contact } from '../party/contact.ts'
import type { Variables } from '../templates/template.ts'
import type { AttemptRequest, LockedRow, OpenAttempt } from './attempt.ts'

/** Interval between passes of the background retry; fixed by the specification. */
export const RETRY_INTERVAL_MS = 60_000
/**
 * A pass retries a row this long after its last attempt. Less than the interval, so that a pass that starts early misses no row;
 * far longer than the gap between the passes of two replicas.
 */
export const RETRY_MIN_PAUSE_MS = 55_000

/** A row to retry. The retry of a FAILED row sends its stored text. */
export const retryEntry = logEntry
  .pick({
    locator: true,
    eventId: true,
    eventType: true,
    partyLocator: true,
    attemptCount: true,
    subject: true,
    body: true,
  })
  .extend({
    sendCount: z.int(),
    unknownKey: z.int().nullable(),
  })
export interface RetryEntry extends Readonly<z.infer<typeof retryEntry>> {
  /** Set only for a SKIPPED row, which stores no text: a requested retry renders one. */
  readonly variables?: Variables
  readonly isPartyInvalid?: boolean
  /** Set only if the message was read again, by this envelope map. */
  readonly envelopeMapRevision?: string
}

/** A row to retry, with its party's contact; undefined if it has no party. */
export interface LookedUpEntry {
  readonly due: RetryEntry
  readonly contact: Contact | undefined
}

/** True if policy administration was not asked, as while it is down, or refused the credential: this costs no attempt. */
export function isPostponed({ contact }: LookedUpEntry): boolean {
  return contact?.state === 'unresolved' && contact.costsNoAttempt
}

export function nextAttempt(
  { due, contact }: LookedUpEntry,
  locked: LockedRow,
  request: AttemptRequest | null,
): OpenAttempt {
  const { locator, eventId, eventType, partyLocator, attemptCount, sendCount, unknownKey } = due
  const { templateRevision } = locked
  return {
    locator,
    eventId,
    eventType,
    partyLocator,
    isPartyInvalid: due.isPartyInvalid ?? false,
    contact,
    origin: {
      ...locked.origin,
      envelopeMapRevision: due.envelopeMapRevision ?? locked.origin.envelopeMapRevision,
    },
    variables: due.variables ?? locked.variables,
    stored: due.body === null ? null : { subject: due.subject ?? '', body: due.body, templateRevision },
    isPruned: false,
    before: { attemptCount, sendCount, unknownKey },
    request,
  }
}
