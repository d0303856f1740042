import { z } from 'zod'

/** How often the rules of one table decided, among the newest decisions of all. Times are ISO 8601. */
export const ruleMatches = z.object({
  /** Decisions that were looked at. */
  lookedAt: z.int(),
  /** The oldest of them; null where there is none. */
  since: z.string().nullable(),
  /** False: there are older ones that were not looked at. */
  complete: z.boolean(),
  /** Of each rule that made any of them. */
  matches: z.array(z.object({ ruleId: z.string(), count: z.int(), lastAt: z.string() })),
})
export type RuleMatches = Readonly<z.infer<typeof ruleMatches>>
