import { z } from 'zod'
import { type CurrentRules, currentRules, type RuleMatches } from '../../core/rules/current-rules.ts'
import type { Rule } from '../../core/rules/rule.ts'
import { share } from '../../core/time/share.ts'
import { problemBody } from '../problems/problem.ts'
import { time } from '../request/fields.ts'
import type { HttpApp } from '../server/base.ts'

/** The rule table in force in this process. */
export interface RulesInForce {
  readonly revision: string
  readonly rules: readonly Rule[]
  /** Time at which a table of this revision last came into force; null if not recorded. */
  readonly activation: (revision: string) => Promise<CurrentRules['activation']>
  readonly matches: (revision: string) => Promise<RuleMatches>
}

const MATCHES_VALID_MS = 5_000

const { shape } = currentRules
const shown = currentRules.extend({
  activation: shape.activation.unwrap().extend({ activatedAt: time }).nullable(),
  counted: shape.counted.extend({ since: time.nullable() }),
  rules: z.array(shape.rules.element.extend({ lastAt: time.nullable() })),
})

/** The rule table in force, with the number of decisions of each rule. No personal data. */
export function rulesRoute(app: HttpApp, { revision, rules, activation, matches }: RulesInForce): void {
  const counted = share(matches, MATCHES_VALID_MS, () => performance.now())
  const schema = { querystring: z.strictObject({}), response: { 200: shown, 503: problemBody } }
  app.get('/rules', { config: { access: 'admin' }, schema }, async () => {
    const [since, { matches, ...counts }] = await Promise.all([activation(revision), counted(revision)])
    const matchesOf = new Map(matches.map((match) => [match.ruleId, match]))
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
        count: matchesOf.get(id)?.count ?? 0,
        lastAt: matchesOf.get(id)?.lastAt ?? null,
      })),
    }
  })
}
