import { z } from 'zod'
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
export type DueEntry = Readonly<z.infer<typeof dueEntry>>
