import { z } from 'zod'
import { recordedFacts } from '../decide/decision/fact-schemas.ts'

/** A decision before the last one: it failed or could not be sent and was retried, or an operator requested the next one. */
export const earlierDecision = z.object({
  facts: recordedFacts,
  outcome: z.string(),
  onRequest: z.boolean(),
})

/** Events that were decided alike from the same facts. */
export const decisionGroup = z.object({
  /** A digest of the facts and decisions that its events share. */
  id: z.string(),
  facts: recordedFacts,
  /** Oldest first; empty if the event was decided once. */
  earlier: z.array(earlierDecision),
  /** True if an operator requested it and it is not the first. */
  onRequest: z.boolean(),
  ruleId: z.string(),
  outcome: z.string(),
  channel: z.string(),
  ruleTableRevision: z.string(),
  /** The event's party locator is invalid: its logged reason does not come from the rule table. */
  isPartyInvalid: z.boolean(),
  count: z.int(),
  /** Some of their locators. */
  locators: z.array(z.string()),
})
export type DecisionGroup = Readonly<z.infer<typeof decisionGroup>>

/** Decisions of a period: a part of them, in groups. */
export const decisionPage = z.object({
  /** Number of events examined, in the period or near it. */
  events: z.int(),
  groups: z.array(decisionGroup),
  /** Requests the next page; null on the last one. */
  nextCursor: z.string().nullable(),
})
export type DecisionPage = Readonly<z.infer<typeof decisionPage>>

/** An entry of the log and its member; null if the event names none, if the member's data was erased or the entry is gone. */
export const listedMember = z.object({
  locator: z.string(),
  partyLocator: z.string().nullable(),
  createdAt: z.string().nullable(),
})
export type ListedMember = Readonly<z.infer<typeof listedMember>>
