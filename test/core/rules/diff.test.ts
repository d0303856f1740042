import t from 'tap'
import { diffRuleTables } from '../../../src/core/rules/diff.ts'
import { above, DEFAULT_ROWS, tableOf } from './default-table.ts'

const before = await tableOf(DEFAULT_ROWS)

/** The shipped rows with the row of this id changed. */
function changed(ruleId: string, from: string, to: string): string[] {
  return DEFAULT_ROWS.map((row) => (row.startsWith(`${ruleId},`) ? row.replace(from, to) : row))
}

t.test('event types that change alike share a change', async (t) => {
  const rows = changed('email', 'SEND,EMAIL,', 'SEND,IN_APP,')
  const named = above('opted-out', 'a,claim.paid,found,yes,,,,SKIP,,x,Y.')
  const after = await tableOf(rows.toSpliced(3, 0, 'a,claim.paid,found,yes,,,,SKIP,,x,Y.'))
  const { changes } = diffRuleTables(await tableOf(named), after)
  t.equal(changes.length, 2)
  for (const { eventClasses } of changes) t.equal(eventClasses.length, 2)
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
