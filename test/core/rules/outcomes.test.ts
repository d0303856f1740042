import { readFileSync } from 'node:fs'
import t from 'tap'
import { SITUATIONS } from '../../../src/core/rules/situations.ts'
import { above, DEFAULT_ROWS } from './default-table.ts'
import { outcomesOf } from './outcomes.ts'

// Beside the test instead of in a folder at the top. `make rules-accept` writes it anew.
t.snapshotFile = new URL('outcomes.snapshot.cjs', import.meta.url).pathname

t.test('the rule table decides every situation as it was accepted', async (t) => {
  const shipped = readFileSync(new URL('../../../rules/dispatch.csv', import.meta.url), 'utf8')
  const rows = shipped.trim().split('\n').slice(1)
  t.matchSnapshot(await outcomesOf(rows), 'outcomes (make rules-accept takes the new ones)')
})

t.test('a rule that names event types adds only the lines that differ, and they sum up', async (t) => {
  const usual = (await outcomesOf(DEFAULT_ROWS)).split('\n')
  const muted = (
    await outcomesOf(above('opted-out', 'muted,claim.paid,found,no,SMS,,,SKIP,,muted,Y.'))
  ).split('\n')
  t.strictSame(usual.length, 1 + SITUATIONS.length + 1)
  t.strictSame(muted.slice(0, 38), usual.slice(0, 38))
  t.strictSame(muted.slice(38), [
    'claim.paid: 33 as above, 4 not',
    ...['no email on file, no', 'no email on file,', 'email on file, no', 'email on file,'].map(
      (onFile) =>
        `  party found, not opted out, prefers SMS, ${onFile} phone on file: SKIP (muted), rule "muted"`,
    ),
    '74 in all',
  ])
  const counts = muted.flatMap(
    (line) => /: (\d+) as above, (\d+) not$|^any other event type: (\d+)$/.exec(line) ?? [],
  )
  const sum = counts.reduce((total, count) => total + (/^\d+$/.test(count ?? '') ? Number(count) : 0), 0)
  t.equal(sum, 74, 'every situation of every class is accounted for')
})
