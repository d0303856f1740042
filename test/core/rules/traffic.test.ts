import t from 'tap'
import { diffRuleTables } from '../../../src/core/rules/diff.ts'
import { describeDiff, groupChanges } from '../../../src/core/rules/diff-text.ts'
import { SITUATIONS } from '../../../src/core/rules/situations.ts'
import { createTrafficCount, loadTraffic, trafficToCsv } from '../../../src/core/rules/traffic.ts'
import { above, DEFAULT_ROWS, tableOf } from './default-table.ts'

/** In each situation as many events as its position says, from 1. */
function countOf(...eventTypes: string[]) {
  const count = createTrafficCount(['claim.paid', 'invoice.paid'])
  for (const eventType of eventTypes)
    for (const [index, situation] of SITUATIONS.entries())
      count.add({ facts: { eventType, ...situation }, count: index + 1 })
  return count
}

t.test('counts are the same once written and read', async (t) => {
  const lines = countOf('invoice.paid', 'claim.paid', 'invoice.paid').lines()
  t.equal(lines.length, 2 * 37)
  t.strictSame(loadTraffic(trafficToCsv(lines)), { lines, total: (3 * 37 * 38) / 2 })
  t.match(
    trafficToCsv(lines),
    /^event type,party,opted out,preferred channel,email on file,phone on file,events\r\n/,
  )
})

t.test('event types that nobody knows, which may be anything, are counted as one', async (t) => {
  const lines = countOf(
    'claim.paid',
    '=cmd()',
    'max.mustermann',
    ...Array(2_000)
      .fill('x')
      .map((x, i) => `${x}${i}`),
  ).lines()
  t.strictSame(new Set(lines.map(({ facts }) => facts.eventType)), new Set(['claim.paid', '(other)']))
})

t.test('each fault of a file of counts is named', async (t) => {
  const headings = 'event type,party,opted out,preferred channel,email on file,phone on file,events'
  t.throws(() => loadTraffic(`${headings}\na,found,no,EMAIL,yes,no,many\nb,fuond,no,EMAIL,,,1`), {
    message:
      /^the counts have 2 faults:\n {2}row 2, column "events": "many" is not a number of events\n {2}row 3, col/,
  })
})

t.test(
  'each sentence tells how many events it concerns, and of one kind the greatest comes first',
  async (t) => {
    const before = await tableOf(DEFAULT_ROWS)
    const diff = diffRuleTables(
      before,
      await tableOf(above('opted-out', 'm,invoice.paid,found,,,,,SKIP,,muted,Y.')),
    )
    const traffic = loadTraffic(trafficToCsv(countOf('invoice.paid', 'claim.paid').lines()))
    const [summary, first, situation] = describeDiff(diff, traffic)
    t.equal(
      summary,
      '24 situations change: 8 no longer sent (63 events), 0 newly sent, 16 with another reason only (237 events); of 1406 events counted',
    )
    t.match(
      first,
      /^4 situations change from SEND by IN_APP to SKIP \(muted\) for invoice\.paid \(.*\): 42 events:$/,
    )
    t.match(situation, /prefers IN_APP, no email on file, no phone on file: 9 events$/)
    t.strictSame(
      groupChanges(diff, traffic).map(({ kind, events }) => `${kind} ${events}`),
      [
        'no longer sent 42',
        'no longer sent 14',
        'no longer sent 7',
        'with another reason only 222',
        'with another reason only 12',
        'with another reason only 3',
      ],
    )
    t.ok(groupChanges(diff).every(({ events }) => events === null))
  },
)
