import t from 'tap'
import { loadRuleTable } from '../../../../src/service/decide/rules/load-table.ts'
import { findUnknownEventTypes } from '../../../../src/service/decide/rules/unknown-event-types.ts'
import { rule, table } from '../../../authoring/build.ts'
import { EVENT_TYPES } from '../../../authoring/templates/specified-event-types.ts'
import { inWords } from '../../build.ts'

function foundIn(eventTypes: string, trafficTypes: readonly string[] = []) {
  const rules = loadRuleTable(table(rule({ eventType: eventTypes })))
  return inWords(findUnknownEventTypes(rules, EVENT_TYPES, { trafficTypes }))
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

t.test('an event type of a recent event is known, and one near to it is a warning', async (t) => {
  const rules = loadRuleTable(table(rule({ eventType: 'claim.withdrwan or claim.withdrawn or payments' })))
  const found = findUnknownEventTypes(rules, EVENT_TYPES, { seenEventTypes: ['claim.withdrawn'] })
  const nobody = ', and no event of the last 30 days has it; did you mean'
  t.match(inWords(found), {
    faults: { length: 0 },
    warnings: [
      new RegExp(`no template for "claim.withdrwan"${nobody} "claim.withdrawn"\\?$`),
      new RegExp(`no template for "payments"${nobody} "payment\\.\\*"`),
    ],
  })
})

t.test(
  'an event type of the traffic causes no warning, and is named; a slip of a template stays a fault',
  async (t) => {
    const nothing = { faults: [], warnings: [] }
    t.strictSame(foundIn('claim.opened or refund.*', ['claim.opened', 'refund.sent']), nothing)
    t.match(foundIn('claim.opend', ['claim.opened']).warnings, [
      /"claim\.opend"; did you mean "claim\.opened"\?$/,
    ])
    t.match(foundIn('invoice.payed', ['invoice.payed']).faults, [/"invoice\.paid"\? If not, write "exactly/])
  },
)

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
