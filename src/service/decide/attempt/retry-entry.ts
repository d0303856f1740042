import { z } from 'zod'
import { logEntry } from '../../model/log/log-entry.ts'
import type { StatedFacts } from '../event/stated-facts.ts'
import type { Contact } from '../party/contact.ts'
import type { Variables } from '../templates/template.ts'
import type { AttemptRequest, LockedRow, OpenAttempt } from './attempt.ts'

export const retryEntry = logEntry
  .pick({
    locator: true,
    eventId: true,
    eventType: true,
    partyLocator: true,
    status: true,
    attemptCount: true,
    subject: true,
    body: true,
  })
  .extend({
    sendCount: z.int(),
    unknownKey: z.int().nullable(),
  })

/** A row to retry: FAILED, with a stored text; or, on request, SKIPPED, with a text to render. */
export interface RetryEntry extends Readonly<z.infer<typeof retryEntry>> {
  /** Set if the message was read again; otherwise the last decision has these values. */
  readonly reading?: RereadMessage
}

/** A message as the envelope map of this revision reads it. */
interface RereadMessage {
  readonly variables: Variables
  readonly stated: StatedFacts
  readonly envelopeMapRevision: string
}

/** A row to retry, with its party's contact; undefined if it has no party. */
export interface LookedUpEntry {
  readonly due: RetryEntry
  readonly contact: Contact | undefined
}

/** True if policy administration was not asked, for example because it is down, or refused the credential. This costs no attempt. */
export function isPostponed({ contact }: LookedUpEntry): boolean {
  return contact?.state === 'unresolved' && contact.costsNoAttempt
}

export function nextAttempt(
  { due, contact }: LookedUpEntry,
  locked: LockedRow,
  request: AttemptRequest | null,
): OpenAttempt {
  const { locator, eventId, eventType, partyLocator, attemptCount, sendCount, unknownKey, body } = due
  const { variables, stated } = due.reading ?? locked
  const subject = {
    locator,
    eventId,
    eventType,
    partyLocator,
    stated,
    contact,
    origin: {
      ...locked.origin,
      envelopeMapRevision: due.reading?.envelopeMapRevision ?? locked.origin.envelopeMapRevision,
    },
    before: { attemptCount, sendCount, unknownKey },
    request,
  }
  const { templateRevision } = locked
  if (body !== null) {
    const stored = { subject: due.subject ?? '', body, templateRevision }
    return { kind: 'stored retry', ...subject, stored, variables }
  }
  if (variables === null) throw new Error(`${locator} has no variables to render`)
  return { kind: 'rendered retry', ...subject, variables }
}
