import { z } from 'zod'
import { CHANNELS } from '../decision/channel.ts'
import { OUTCOMES } from '../decision/decide.ts'
import { cellSchemas } from '../decision/fact-schemas.ts'

/** A rule table that came into force. Times are in UTC with microseconds. */
export const activation = z.object({
  revision: z.string(),
  gitCommit: z.string().nullable(),
  activatedAt: z.string(),
})
export type Activation = Readonly<z.infer<typeof activation>>

/** Counts of decisions by rule of one table, among the newest decisions of all. Times are ISO 8601. */
export const ruleMatches = z.object({
  lookedAt: z.int(),
  /** The oldest of them; null where there is none. */
  since: z.string().nullable(),
  /** False: there are older ones that were not looked at. */
  complete: z.boolean(),
  matches: z.array(z.object({ ruleId: z.string(), count: z.int(), lastAt: z.string() })),
})
export type RuleMatches = Readonly<z.infer<typeof ruleMatches>>

/** One rule, with how often it decided. Null in what it looks at means any. */
const currentRule = z.object({
  ruleId: z.string(),
  eventType: z.string().nullable(),
  ...cellSchemas,
  outcome: z.enum(OUTCOMES),
  sendBy: z.enum(CHANNELS).nullable(),
  reason: z.string().nullable(),
  because: z.string(),
  count: z.int(),
  lastAt: z.string().nullable(),
})
export type CurrentRule = Readonly<z.infer<typeof currentRule>>

/** The rule table that decides now. `activation` is null where it is not on record when it came into force. */
export const currentRules = z.object({
  revision: z.string(),
  activation: activation.pick({ activatedAt: true, gitCommit: true }).nullable(),
  counted: ruleMatches.omit({ matches: true }),
  rules: z.array(currentRule),
})
export type CurrentRules = Readonly<z.infer<typeof currentRules>>
