import t from 'tap'
import { diffToMarkdown } from '../../../src/core/rules/change-summary.ts'
import { diffRuleTables } from '../../../src/core/rules/diff.ts'
import { DEFAULT_ROWS, tableOf } from './default-table.ts'

const before = await tableOf(DEFAULT_ROWS)

async function markdownOf(rows: readonly string[]): Promise<string> {
  return diffToMarkdown(diffRuleTables(before, await tableOf(rows)))
}

t.test('a short diff is a list under each sentence', async (t) => {
  const rows = DEFAULT_ROWS.map((row) =>
    row.replace('no phone on file', 'no number').replace('sms,', 'text,'),
  )
  t.equal(
    await markdownOf(rows),
    `### Rule table: 2 situations change: 0 no longer sent, 0 newly sent, 2 with another reason only

#### With another reason only

2 situations change from SKIP (no phone on file) to SKIP (no number) for every event type (rule "no-phone" as before):

- party found, not opted out, prefers SMS, no email on file, no phone on file
- party found, not opted out, prefers SMS, email on file, no phone on file

#### No difference to members

- 2 situations with the same result by another rule (rule "sms" before, rule "text" now)
`,
  )
})

t.test('text of the table is escaped', async (t) => {
  const markdown = await markdownOf(
    DEFAULT_ROWS.map((row) => row.replace('no phone on file', '</summary> *`[x](y)` @team #1 & |')),
  )
  t.match(
    markdown,
    'SKIP (&#60;/summary&#62; &#42;&#96;&#91;x&#93;(y)&#96; &#64;team &#35;1 &#38; &#124;) for every event type',
  )
})
