import { z } from 'zod'
import { explainedDecision, recordedDecision } from '../../decide/decision/recorded-decision.ts'
import { DEFAULT_CHANNEL, KNOWN_CHANNELS } from '../../decide/party/channel.ts'
import { STATUSES } from './status.ts'

const TEXT = 'Rendered; null if nothing was to be sent, or the text was erased'

/**
 * One row of the notification log, with the words of the API document. Times are ISO 8601 in UTC with six decimals, so that they
 * compare as texts. HTTP checks their format; checking each row read from the database would cost too much.
 */
export const logEntry = z.object({
  locator: z.string().describe('Identifies the entry'),
  eventId: z.string().describe('Id of the consumed event; unique'),
  partyLocator: z
    .string()
    .nullable()
    .describe('The party that the message is for; null if the event named none'),
  eventType: z.string(),
  channel: z
    .string()
    .describe(`The chosen one, else the preferred one, else \`${DEFAULT_CHANNEL}\`. ${KNOWN_CHANNELS}`),
  status: z.enum(STATUSES),
  subject: z.string().nullable().describe(TEXT),
  body: z.string().nullable().describe(TEXT),
  failureReason: z.string().nullable().describe('Why the status is not `SENT`'),
  attemptCount: z.int().describe('Attempts to send; each retry adds one'),
  sentAt: z.string().nullable(),
  createdAt: z.string(),
})
export type LogEntry = Readonly<z.infer<typeof logEntry>>

export const logRow = logEntry.extend({ lastAttemptAt: z.string().nullable() })
export type LogRow = Readonly<z.infer<typeof logRow>>

/** A listed entry as the database knows it. */
const listedRow = logEntry.extend({
  reference: z
    .string()
    .nullable()
    .describe('The claim, policy or invoice that the event is about; null if it was erased'),
  givenUp: z.boolean().describe('`FAILED`, and not retried any more'),
  receipt: z.string().nullable().describe('The answer to the last send'),
  recordedOnly: z
    .boolean()
    .nullable()
    .describe(
      'A placeholder recorded the message, and nothing was delivered; null if that is unknown, since no receipt is stored',
    ),
})
export type ListedRow = Readonly<z.infer<typeof listedRow>>

/** A listed entry with its last decision, whose rule may explain why the member was not told; null without a decision. */
export const decidedRow = listedRow.extend({
  outcome: z.string().nullable(),
  ruleId: z.string().nullable(),
  ruleTableRevision: z.string().nullable(),
})
export type DecidedRow = Readonly<z.infer<typeof decidedRow>>

export const listedLogEntry = listedRow.extend({
  because: z
    .string()
    .nullable()
    .describe(
      'Why the member was not told, in a sentence that can be read out: that of the rule, if it decided so',
    ),
})
export type ListedLogEntry = Readonly<z.infer<typeof listedLogEntry>>

/** One log entry with the decisions behind it, oldest first. */
export const recordedLogEntry = listedRow.extend({
  /** Null if the service does not retry it. Overdue: more than an interval ago. Held: not before a hold ends. */
  nextRetry: z.object({ at: z.string(), isOverdue: z.boolean(), isHeld: z.boolean() }).nullable(),
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

/** Failure reason of a row erased before it was sent. */
export const ERASED_UNSENT = 'erased before it was sent'
