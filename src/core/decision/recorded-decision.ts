import { z } from 'zod'
import { CHANNELS } from './channel.ts'
import { OUTCOMES } from './decide.ts'
import { recordedFacts } from './fact-schemas.ts'

/** One decision behind a log entry: what was decided, why, and where the event came from. */
export const decisionRecord = z.object({
  /** The entry's `attemptCount` after this decision. */
  attempt: z.int(),
  outcome: z.enum(OUTCOMES),
  channel: z.enum(CHANNELS),
  ruleId: z.string(),
  reason: z.string().nullable(),
  facts: recordedFacts,
  templateRevision: z.string().nullable(),
  ruleTableRevision: z.string(),
  /** The revision of the envelope map that read the event; null for older decisions, which recorded none. */
  envelopeMapRevision: z.string().nullable(),
  receipt: z.string().nullable(),
  /** Why the sender refused a message that the rule said to send. */
  sendError: z.string().nullable(),
  decidedAt: z.string(),
  /** When its variables and send error were erased; null where they were not. */
  erasedAt: z.string().nullable(),
  topic: z.string(),
  partition: z.int(),
  /** In decimal digits: offsets outgrow a JSON number. */
  offset: z.string(),
  traceId: z.string().nullable(),
})

export const followedChange = z.object({
  changedAt: z.string(),
  /** Subject of the token; null where there was none. */
  changedBy: z.string().nullable(),
  /** Since when the party had been opted out of the event's type without a break; null where it was not. */
  optedOutAt: z.string().nullable(),
})
export type FollowedChange = Readonly<z.infer<typeof followedChange>>

/** A decision with the change of preferences that it followed; null where the party had none on record. */
export const recordedDecision = decisionRecord.extend({
  /** The operator's request for a retry; null if the service retried by itself. */
  retry: z.object({ by: z.string(), because: z.string() }).nullable(),
  preferenceChange: followedChange.nullable(),
  /** The source of its envelope map; null where that is not in the archive. */
  envelopeMap: z.string().nullable(),
})
export type RecordedDecision = Readonly<z.infer<typeof recordedDecision>>

/** A decision in words, by the rule table of its time. */
export const explainedDecision = recordedDecision.omit({ envelopeMap: true }).extend({
  /** The places of the fields (JSON Pointers, or `header:` and a name) by the envelope map of its time; null if it cannot be read. */
  readFrom: z.object({ partyLocator: z.string(), locator: z.string(), reason: z.string() }).nullable(),
  /** One sentence: what was done, by which rule, for which facts, and why the rule is as it is. */
  why: z.string(),
  /** The rule's sentence for people; null where the table of its time cannot be read. */
  because: z.string().nullable(),
  /** The web page of its trace; null without a trace id, or where `TRACE_URL` is not set. */
  traceUrl: z.string().nullable(),
  /** The rules above it, from top to bottom, each with the first of its cells that did not match. */
  rulesAbove: z.array(z.object({ ruleId: z.string(), mismatch: z.string() })),
})
export type ExplainedDecision = Readonly<z.infer<typeof explainedDecision>>
