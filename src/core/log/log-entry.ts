import { z } from 'zod'
import { CHANNELS } from '../decision/channel.ts'
import { explainedDecision, recordedDecision } from '../decision/recorded-decision.ts'
import { STATUSES } from './status.ts'

/**
 * One row of the notification log. Times are ISO 8601 in UTC with six decimals, so that they compare as texts. HTTP checks their
 * format; checking each row read from the database would cost too much.
 */
export const logEntry = z.object({
  locator: z.string(),
  eventId: z.string(),
  partyLocator: z.string().nullable(),
  eventType: z.string(),
  channel: z.enum(CHANNELS),
  status: z.enum(STATUSES),
  subject: z.string().nullable(),
  body: z.string().nullable(),
  failureReason: z.string().nullable(),
  attemptCount: z.int(),
  sentAt: z.string().nullable(),
  createdAt: z.string(),
})
export type LogEntry = Readonly<z.infer<typeof logEntry>>

export const logRow = logEntry.extend({ lastAttemptAt: z.string().nullable() })
export type LogRow = Readonly<z.infer<typeof logRow>>

export const listedLogEntry = logEntry.extend({
  /** FAILED, and past the last retry. */
  givenUp: z.boolean(),
  /** The receipt of the last decision. */
  receipt: z.string().nullable(),
})
export type ListedLogEntry = Readonly<z.infer<typeof listedLogEntry>>

/** One log entry with the decisions behind it, oldest first. */
export const recordedLogEntry = listedLogEntry.extend({
  /** The claim, policy or invoice that the event is about; null if erased or not stored. */
  reference: z.string().nullable(),
  /** Null if the service does not retry it. Overdue: more than an interval ago. */
  nextRetry: z.object({ at: z.string(), isOverdue: z.boolean() }).nullable(),
  decisions: z.array(recordedDecision),
})
export type RecordedLogEntry = Readonly<z.infer<typeof recordedLogEntry>>

/** An entry in sentences that can be read out. Their times are ISO 8601 in UTC. */
const story = z.object({
  /** One sentence: the event, its time, channel and member. */
  what: z.string(),
  /** The reason of the deciding rule; null if the message was sent and that rule cannot be read. */
  because: z.string().nullable(),
  next: z.string(),
  /** Ordered by time. `until` is the last time of a repeated event. */
  timeline: z.array(z.object({ at: z.string(), until: z.string().nullable(), words: z.string() })),
})
export type Story = Readonly<z.infer<typeof story>>

export const explainedLogEntry = recordedLogEntry
  .omit({ nextRetry: true })
  .extend({ story, decisions: z.array(explainedDecision) })
export type ExplainedLogEntry = Readonly<z.infer<typeof explainedLogEntry>>

/** Failure reason of a row that was erased before it was sent: nothing is left to send. */
export const ERASED_UNSENT = 'erased before it was sent'

export interface ErasureCounts {
  readonly logEntries: number
  /** Log entries among them that were FAILED: they are no longer retried. */
  readonly retries: number
  readonly preferences: number
  readonly preferenceChanges: number
  readonly rejectedMessages: number
}
