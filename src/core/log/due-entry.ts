import { z } from 'zod'
import type { Variables } from '../templates/template.ts'
import { logEntry } from './log-entry.ts'

/** A failed row that is due for a retry. Its text was rendered when the event was dispatched: a retry sends it as stored. */
export const dueEntry = logEntry
  .pick({ locator: true, eventId: true, eventType: true, partyLocator: true, attemptCount: true })
  .extend({
    subject: z.string(),
    body: z.string(),
    /** Its decisions to send, whatever became of the messages. */
    sendCount: z.int(),
    /** The number in the last idempotency key, if nobody knows what became of that message: it is used again. */
    unknownKey: z.int().nullable(),
  })
export interface DueEntry extends Readonly<z.infer<typeof dueEntry>> {
  /** What its text was rendered from just now, where the row is SKIPPED and stores none: it is retried on request. */
  readonly rendered?: { readonly variables: Variables; readonly templateRevision: string }
  /** Its event names a party that none can be. */
  readonly isPartyInvalid?: boolean
}

/** Who asked for rows to be retried that the service itself would not retry any more, and why. */
export interface RetryRequest {
  readonly by: string
  readonly because: string
}
