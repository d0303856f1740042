import { z } from 'zod'
import { CHANNELS } from '../decision/channel.ts'
import { OUTCOMES } from '../decision/decide.ts'
import { recordedFacts } from '../decision/fact-schemas.ts'

/**
 * A decision before the one that counts: it failed, or its message could not be sent, and the event was retried; or somebody
 * asked for the next one, whatever this one was.
 */
export const earlierDecision = z.object({
  facts: recordedFacts,
  outcome: z.enum(OUTCOMES),
  onRequest: z.boolean(),
})

/** Events that were decided alike from the same facts. */
export const decisionGroup = z.object({
  facts: recordedFacts,
  /** From the first on; empty where the event was decided once, or counts by its first decision. */
  earlier: z.array(earlierDecision),
  /** Somebody asked for it, where it is not the first. */
  onRequest: z.boolean(),
  ruleId: z.string(),
  outcome: z.enum(OUTCOMES),
  channel: z.enum(CHANNELS),
  ruleTableRevision: z.string(),
  /** The event's party locator is invalid: its reason in the log does not come from the rule table. */
  invalidParty: z.boolean(),
  count: z.int(),
  /** The locators of some of them. */
  locators: z.array(z.string()),
})
export type DecisionGroup = Readonly<z.infer<typeof decisionGroup>>
