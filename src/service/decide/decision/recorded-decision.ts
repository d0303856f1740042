import { z } from 'zod'
import type { Variables } from '../templates/template.ts'
import { recordedFacts } from './fact-schemas.ts'
import type { RecordedFacts } from './facts.ts'

/** Position of a decision's message, and the envelope map that read it. */
export const origin = z.object({
  topic: z.string(),
  partition: z.int(),
  offset: z.bigint(),
  traceId: z.string().nullable(),
  /** Revision of the envelope map that read the message; null if that is not known. */
  envelopeMapRevision: z.string().nullable(),
})
export type Origin = Readonly<z.infer<typeof origin>>

/**
 * One decision behind a log entry: the outcome and its reasons. Another version may have stored it: values that an earlier one
 * lacked are null or, among the facts, absent; names that only a later one knows are read as text.
 */
export const decisionRecord = z.object({
  /** The entry's `attemptCount` after this decision. */
  attempt: z.int(),
  outcome: z.string(),
  channel: z.string(),
  ruleId: z.string(),
  reason: z.string().nullable(),
  facts: recordedFacts,
  templateRevision: z.string().nullable(),
  ruleTableRevision: z.string(),
  receipt: z.string().nullable(),
  /** A placeholder recorded the message. Null if its receipt was erased before this was recorded. */
  recordedOnly: z.boolean().nullable(),
  /** The sender's reason for refusing the message. */
  sendError: z.string().nullable(),
  decidedAt: z.string(),
  /** Time at which its variables and send error were erased, or null. */
  erasedAt: z.string().nullable(),
})

/** Facts as stored, unchecked: a replay reads millions of them, and old ones may have other keys. */
export const storedFacts = z.custom<RecordedFacts>((facts) => typeof facts === 'object' && facts !== null)

/** The variables of a decision's text as stored, unchecked. */
export const storedVariables = z.custom<Variables>(
  (variables) => typeof variables === 'object' && variables !== null,
)

export const followedChange = z.object({
  changedAt: z.string(),
  /** Subject of the token; null if there was none. */
  changedBy: z.string().nullable(),
  /** Start of the party's unbroken opt-out of the event's type; null if it was not opted out. */
  optedOutAt: z.string().nullable(),
  /** Time of the party's last withdrawn opt-out of the event's type; null without one, or if it opted out again. */
  withdrawnAt: z.string().nullable().optional(),
})
export type FollowedChange = Readonly<z.infer<typeof followedChange>>

/** A decision with the origin of its event, and the change of preferences that it followed; null if the party had none on record. */
export const recordedDecision = decisionRecord.extend({
  ...origin.shape,
  /** In decimal digits: offsets outgrow a JSON number. */
  offset: z.string(),
  /** The author of a requested retry or redrive, and the reason; null if there was no request. */
  retry: z.object({ by: z.string(), because: z.string() }).nullable(),
  /** Id of the request, in decimal digits; null if there was none, or its id was not recorded. */
  request: z.string().nullable(),
  preferenceChange: followedChange.nullable(),
  /** Source of its envelope map; null if the archive does not have it. */
  envelopeMap: z.string().nullable(),
})
export type RecordedDecision = Readonly<z.infer<typeof recordedDecision>>

/** A decision in words, by the rule table then in force. */
export const explainedDecision = recordedDecision.omit({ envelopeMap: true }).extend({
  /**
   * Places of the fields (JSON Pointers, or `header:` and a name; several joined by ` or `) in its topic's envelope map of that
   * time; null if that cannot be read.
   */
  readFrom: z.object({ partyLocator: z.string(), locator: z.string(), reason: z.string() }).nullable(),
  /** One sentence: the outcome, its rule and facts, and the rule's explanation. */
  why: z.string(),
  /** The rule's sentence for people; null if the table of its time cannot be read. */
  because: z.string().nullable(),
  /** Web page of its trace; null without a trace id or if `TRACE_URL` is not set. */
  traceUrl: z.string().nullable(),
  /** The rules above it, from top to bottom, each with its first cell that did not match. */
  rulesAbove: z.array(z.object({ ruleId: z.string(), mismatch: z.string() })),
})
export type ExplainedDecision = Readonly<z.infer<typeof explainedDecision>>
