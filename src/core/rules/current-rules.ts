import { z } from 'zod'
import { CHANNELS } from '../decision/channel.ts'
import { cellSchemas } from '../decision/fact-schemas.ts'
import { OUTCOMES } from '../decision/outcome.ts'
import { activation } from './activation.ts'
import { ruleMatches } from './rule-matches.ts'

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
