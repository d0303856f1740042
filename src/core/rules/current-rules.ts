import { z } from 'zod'
import { CHANNELS } from '../decision/channel.ts'
import { OUTCOMES } from '../decision/decide.ts'
import { cellSchemas } from '../decision/fact-schemas.ts'

/** Time at which a rule table came into force, in UTC with microseconds. */
export const activation = z.object({
  revision: z.string(),
  gitCommit: z.string().nullable(),
  activatedAt: z.string(),
})
export type Activation = Readonly<z.infer<typeof activation>>

/** Decisions by rule of one table, counted among the newest decisions of all tables. Times are ISO 8601. */
export const ruleMatches = z.object({
  lookedAt: z.int(),
  /** Time of the oldest one; null if there is none. */
  since: z.string().nullable(),
  /** False if older decisions were not counted. */
  complete: z.boolean(),
  matches: z.array(z.object({ ruleId: z.string(), count: z.int(), lastAt: z.string() })),
})
export type RuleMatches = Readonly<z.infer<typeof ruleMatches>>

/** One rule, with the number of its decisions. Null in a condition means any. */
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

/** The rule table in force. `activation` is null if the time it came into force is not on record. */
export const currentRules = z.object({
  revision: z.string(),
  activation: activation.pick({ activatedAt: true, gitCommit: true }).nullable(),
  counted: ruleMatches.omit({ matches: true }),
  rules: z.array(currentRule),
})
export type CurrentRules = Readonly<z.infer<typeof currentRules>>
