import { z } from 'zod'
import { cellSchemas } from '../decision/fact-schemas.ts'
import { OUTCOMES } from '../decision/result.ts'
import { CHANNELS } from '../party/channel.ts'
import type { RuleTable } from './table.ts'

/** Time at which a rule table came into force, in UTC with microseconds. */
export const activation = z.object({
  revision: z.string(),
  gitCommit: z.string().nullable(),
  /** The first line of its message. */
  gitSubject: z.string().nullable(),
  activatedAt: z.string(),
})
export type Activation = Readonly<z.infer<typeof activation>>

/** One rule. Null in a condition means any. */
const currentRule = z.object({
  ruleId: z.string(),
  eventType: z.string().nullable(),
  ...cellSchemas,
  outcome: z.enum(OUTCOMES),
  sendBy: z.enum(CHANNELS).nullable(),
  reason: z.string().nullable(),
  because: z.string(),
})
export type CurrentRule = Readonly<z.infer<typeof currentRule>>

/** The rule table in force, and the activations of it and earlier ones, newest first. */
export const currentRules = z.object({
  revision: z.string(),
  activations: z.array(activation),
  warnings: z.array(z.string()).readonly(),
  rules: z.array(currentRule),
})
export type CurrentRules = Readonly<z.infer<typeof currentRules>>

export function showRules(
  {
    ruleTable: { revision, rules },
    warnings,
  }: {
    readonly ruleTable: Pick<RuleTable, 'revision' | 'rules'>
    readonly warnings: readonly string[]
  },
  activations: readonly Activation[],
): CurrentRules {
  return {
    revision,
    activations: activations.toReversed(),
    warnings,
    rules: rules.map(({ id, when, outcome, sendBy, reason, because }) => ({
      ruleId: id,
      ...when,
      eventType: when.eventType?.text ?? null,
      outcome,
      sendBy,
      reason,
      because,
    })),
  }
}
