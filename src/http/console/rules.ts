import { z } from 'zod'
import type { ShownRules } from '../../core/console/shown.ts'
import { CHANNELS } from '../../core/decision/channel.ts'
import { PARTY_STATES } from '../../core/decision/facts.ts'
import { OUTCOMES } from '../../core/decision/verdict.ts'
import type { RuleHits } from '../../core/rules/hits.ts'
import type { Rule } from '../../core/rules/rule.ts'
import { problemBody } from '../problems/problem.ts'
import { time } from '../request/fields.ts'
import type { App } from '../server/base.ts'
import { share } from './share.ts'

/** The rule table in force in this process. */
export interface RulesInForce {
  readonly revision: string
  readonly rules: readonly Rule[]
  /** When a table of this revision last came into force; null if that was not recorded. */
  readonly activation: (revision: string) => Promise<{
    readonly activatedAt: string
    readonly gitCommit: string | null
  } | null>
  readonly hits: (revision: string) => Promise<RuleHits>
}

const rule = z.object({
  ruleId: z.string(),
  eventType: z.string().nullable(),
  party: z.enum(PARTY_STATES).nullable(),
  optedOut: z.boolean().nullable(),
  preferredChannel: z.enum(CHANNELS).nullable(),
  emailOnFile: z.boolean().nullable(),
  phoneOnFile: z.boolean().nullable(),
  outcome: z.enum(OUTCOMES),
  sendBy: z.enum(CHANNELS).nullable(),
  reason: z.string().nullable(),
  because: z.string(),
  count: z.int(),
  lastAt: time.nullable(),
})

const shown = z.object({
  revision: z.string(),
  activation: z.object({ activatedAt: time, gitCommit: z.string().nullable() }).nullable(),
  counted: z.object({ lookedAt: z.int(), since: time.nullable(), complete: z.boolean() }),
  rules: z.array(rule),
}) satisfies z.ZodType<ShownRules>

/** The rule table in force and how often each rule decided. No personal data. */
export function rulesRoute(app: App, { revision, rules, activation, hits }: RulesInForce): void {
  const counted = share(hits, () => performance.now())
  const schema = { querystring: z.strictObject({}), response: { 200: shown, 503: problemBody } }
  app.get('/rules', { config: { access: 'admin' }, schema }, async () => {
    const [since, { hits, ...counts }] = await Promise.all([activation(revision), counted(revision)])
    const hitOf = new Map(hits.map((hit) => [hit.ruleId, hit]))
    return {
      revision,
      activation: since,
      counted: counts,
      rules: rules.map(({ id, when, outcome, sendBy, reason, because }) => ({
        ruleId: id,
        ...when,
        eventType: when.eventType?.text ?? null,
        outcome,
        sendBy,
        reason,
        because,
        count: hitOf.get(id)?.count ?? 0,
        lastAt: hitOf.get(id)?.lastAt ?? null,
      })),
    }
  })
}
