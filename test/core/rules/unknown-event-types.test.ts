import t from 'tap'
import { loadRuleTable } from '../../../src/core/rules/load-table.ts'
import { findUnknownEventTypes } from '../../../src/core/rules/unknown-event-types.ts'
import { EVENT_TYPES } from '../../../src/core/templates/event-types.ts'
import { HEADINGS } from './default-table.ts'

function warningsOf(eventTypes: string): string[] {
  const { rules } = loadRuleTable(`${HEADINGS}\na,${eventTypes},,,,,,SKIP,,x,Y.`)
  return findUnknownEventTypes(rules, EVENT_TYPES)
}

t.test('an event type without a template is warned of, with the nearest that has one', async (t) => {
  t.strictSame(warningsOf('claim.rejcted'), [
    'row 2, column "event type": there is no template for "claim.rejcted"; did you mean "claim.rejected"?',
  ])
  t.strictSame(warningsOf('not claims.* or consent.given or invoice.paid'), [
    'row 2, column "event type": there is no template for "consent.given"',
    'row 2, column "event type": there is no template for "claims.*"; did you mean "claim.*"?',
  ])
})

t.test(
  'event types with a template, wildcards over them and blank cells are no reason to warn',
  async (t) => {
    for (const eventTypes of [...EVENT_TYPES, 'claim.*', 'policy.* or invoice.paid', '']) {
      t.strictSame(warningsOf(eventTypes), [], eventTypes)
    }
  },
)
