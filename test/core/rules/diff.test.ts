import t from 'tap'
import { diffRuleTables } from '../../../src/core/rules/diff.ts'
import { above, DEFAULT_ROWS, tableOf } from './default-table.ts'

const MUTED = 'muted,invoice.paid,,,,,,SKIP,,muted,Y.'
const before = await tableOf(DEFAULT_ROWS)

/** The shipped rows with the row of this id changed. */
function changed(ruleId: string, from: string, to: string): string[] {
  return DEFAULT_ROWS.map((row) => (row.startsWith(`${ruleId},`) ? row.replace(from, to) : row))
}

t.test('a situation that another rule decides otherwise is a change, with both results', async (t) => {
  const { changes } = diffRuleTables(before, await tableOf(above('opted-out', MUTED)))
  t.equal(changes.length, 24, 'all of a found party')
  const sms = changes.find(
    ({ situation }) => !situation.optedOut && situation.preferredChannel === 'SMS' && situation.phoneOnFile,
  )
  t.match(sms, {
    eventClasses: [{ representative: 'invoice.paid', members: ['invoice.paid'] }],
    before: { ruleId: 'sms', outcome: 'SEND', channel: 'SMS', reason: null },
    after: { ruleId: 'muted', outcome: 'SKIP', channel: 'SMS', reason: 'muted' },
  })
})

t.test('event types are told apart if either table tells them apart', async (t) => {
  const muted = await tableOf(above('opted-out', MUTED))
  const mutedOther = await tableOf(above('opted-out', MUTED.replace('invoice.paid', 'claim.*')))
  const members = (one: typeof before, other: typeof before) =>
    new Set(
      diffRuleTables(one, other).changes.flatMap((change) => change.eventClasses.map((c) => c.members[0])),
    )
  t.strictSame(members(muted, before), new Set(['invoice.paid']))
  t.strictSame(members(before, muted), new Set(['invoice.paid']))
  t.strictSame(members(muted, mutedOther), new Set(['any other claim.*', 'invoice.paid']))
})

t.test('event types that change alike share a change', async (t) => {
  const rows = changed('email', 'SEND,EMAIL,', 'SEND,IN_APP,')
  const named = above('opted-out', 'a,claim.paid,found,yes,,,,SKIP,,x,Y.')
  const after = await tableOf(rows.toSpliced(3, 0, 'a,claim.paid,found,yes,,,,SKIP,,x,Y.'))
  const { changes } = diffRuleTables(await tableOf(named), after)
  t.equal(changes.length, 2)
  for (const { eventClasses } of changes) t.equal(eventClasses.length, 2)
})

t.test('another channel and another reason are changes, too', async (t) => {
  t.equal(
    diffRuleTables(before, await tableOf(changed('no-phone', 'no phone on file', 'no number'))).changes
      .length,
    2,
  )
  t.equal(diffRuleTables(before, await tableOf(changed('sms', 'SEND,SMS', 'SEND,IN_APP'))).changes.length, 2)
})

t.test('what is written otherwise but decides alike is no change', async (t) => {
  const shuffled = await tableOf([...DEFAULT_ROWS.slice(0, 4), ...DEFAULT_ROWS.slice(4).reverse()])
  t.match(diffRuleTables(before, shuffled), { changes: [], moved: [], reworded: [] })
  const spelt = await tableOf(changed('opted-out', 'opted-out,,', 'opted-out,claim.* or not-claim.x,'))
  const speltAgain = await tableOf(changed('opted-out', 'opted-out,,', 'opted-out,not-claim.x  or  claim.*,'))
  t.match(diffRuleTables(spelt, speltAgain), { changes: [], moved: [], reworded: [] })
})

t.test('another rule id and another explanation are told, but are no changes', async (t) => {
  const renamed = diffRuleTables(before, await tableOf(changed('sms', 'sms,', 'text,')))
  t.equal(renamed.changes.length, 0)
  t.match(renamed.moved, [{ before: { ruleId: 'sms' }, after: { ruleId: 'text' } }, {}])
  t.equal(renamed.moved.length, 2)
  const reworded = diffRuleTables(before, await tableOf(changed('opted-out', 'asked not', 'wished not')))
  t.match(reworded, { changes: [], moved: [], reworded: [{ before: { id: 'opted-out' } }] })
  t.equal(reworded.reworded.length, 1)
})
