import { z } from 'zod'
import { type CurrentRules, currentRules } from '../../core/rules/current-rules.ts'
import type { Rule } from '../../core/rules/rule.ts'
import { problemBody } from '../problems/problem.ts'
import { time } from '../request/fields.ts'
import type { HttpApp } from '../server/base.ts'

/** The rule table in force in this process. */
export interface RulesInForce {
  readonly revision: string
  readonly rules: readonly Rule[]
  /** Time at which this table last came into force; null if not recorded. */
  readonly activation: () => Promise<CurrentRules['activation']>
}

const { activation: anyActivation } = currentRules.shape
const shown = currentRules.extend({
  activation: anyActivation.unwrap().extend({ activatedAt: time }).nullable(),
})

/** The rule table in force. No personal data. */
export function rulesRoute(app: HttpApp, { revision, rules, activation }: RulesInForce): void {
  const schema = { querystring: z.strictObject({}), response: { 200: shown, 503: problemBody } }
  app.get('/rules', { config: { access: 'admin' }, schema }, async () => ({
    revision,
    activation: await activation(),
    rules: rules.map(({ id, when, outcome, sendBy, reason, because }) => ({
      ruleId: id,
      ...when,
      eventType: when.eventType?.text ?? null,
      outcome,
      sendBy,
      reason,
      because,
    })),
  }))
}
