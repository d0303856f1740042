import t from 'tap'
import { loadRuleTable } from '../../../src/core/rules/load-table.ts'
import { findUnknownEventTypes } from '../../../src/core/rules/unknown-event-types.ts'
import { EVENT_TYPES } from '../templates/specified-event-types.ts'
import { HEADINGS } from './default-table.ts'

function foundIn(eventTypes: string) {
  const { rules } = loadRuleTable(`${HEADINGS}\na,${eventTypes},,,,,,SKIP,,x,Y.`)
  return findUnknownEventTypes(rules, EVENT_TYPES)
}

t.test('an event type without a template is warned of, with the nearest that has one', async (t) => {
  t.strictSame(foundIn('not clams.x.* or consent.given or invoice.paid'), {
    faults: [],
    warnings: [
      'row 2, column "event type": there is no template for "consent.given"',
      'row 2, column "event type": there is no template for "clams.x.*"; did you mean "claim.*"?',
    ],
  })
})

t.test('an event type that is a slip away from a known one is a fault, unless it is meant so', async (t) => {
  t.strictSame(foundIn('invoice.payed'), {
    faults: [
      'row 2, column "event type": there is no template for "invoice.payed"; did you mean "invoice.paid"? ' +
        'If not, write "exactly invoice.payed".',
    ],
    warnings: [],
  })
  t.match(foundIn('claims.*').faults, [/did you mean "claim\.\*"\? If not, write "exactly claims\.\*"\.$/])
  t.strictSame(foundIn('claim.paid or exactly invoice.payed'), {
    faults: [],
    warnings: ['row 2, column "event type": there is no template for "invoice.payed"'],
  })
})

t.test('the name of a family of known event types is warned of, with the wildcard', async (t) => {
  for (const [value, meant] of [
    ['invoice', 'invoice.*'],
    ['Claims', 'claim.*'],
  ]) {
    t.strictSame(foundIn(`not ${value}`), {
      faults: [],
      warnings: [`row 2, column "event type": there is no template for "${value}"; did you mean "${meant}"?`],
    })
  }
  t.notMatch(foundIn('exactly invoice').warnings, [/did you mean/])
})

t.test('known event types, wildcards over them and blank cells are no reason to warn', async (t) => {
  for (const eventTypes of [...EVENT_TYPES, 'claim.*', 'policy.* or invoice.paid', '']) {
    t.strictSame(foundIn(eventTypes), { faults: [], warnings: [] }, eventTypes)
  }
})
