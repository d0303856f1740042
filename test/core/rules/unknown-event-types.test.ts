import t from 'tap'
import { loadRuleTable } from '../../../src/core/rules/load-table.ts'
import { findUnknownEventTypes } from '../../../src/core/rules/unknown-event-types.ts'
import { inWords } from '../build.ts'
import { EVENT_TYPES } from '../templates/specified-event-types.ts'
import { rule, table } from './build.ts'

function foundIn(eventTypes: string) {
  const { rules } = loadRuleTable(table(rule({ eventType: eventTypes })))
  return inWords(findUnknownEventTypes(rules, EVENT_TYPES))
}

t.test('an event type without a template causes a warning that names the nearest with one', async (t) => {
  t.strictSame(foundIn('not clams.x.* or consent.given or invoice.paid'), {
    faults: [],
    warnings: [
      'row 2, column "event type": there is no template for "consent.given"',
      'row 2, column "event type": there is no template for "clams.x.*"; did you mean "claim.*"?',
    ],
  })
})

t.test('a misspelt event type is a fault, unless it is marked as exact', async (t) => {
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
