import t from 'tap'
import { diffToMarkdown } from '../../../src/authoring/diff/change-summary.ts'
import { diffRuleTables } from '../../../src/authoring/diff/compare-tables.ts'
import { createTable, DEFAULT_TABLE, describeThose } from '../default-table.ts'

const before = await createTable(DEFAULT_TABLE)

async function markdownOf(csvText: string): Promise<string> {
  return diffToMarkdown(diffRuleTables(before, await createTable(csvText)))
}

t.test('a short diff is a list under each sentence', async (t) => {
  const bySms = { party: 'found', optedOut: false, preferredChannel: 'SMS' } as const
  const reworded = describeThose({ ...bySms, phoneOnFile: false })
  const count = reworded.length
  t.equal(
    await markdownOf(DEFAULT_TABLE.replace('no phone on file', 'no number').replace('\nsms,', '\ntext,')),
    `### Rule table: ${count} situations change: 0 no longer sent, 0 newly sent, ${count} with another reason only

A situation is one combination of the facts that rules read about a member, for some event types.

#### With another reason only

${count} situations change from SKIP (no phone on file) to SKIP (no number) for every event type (rule "no-phone" as before):

${reworded.map((situation) => `- ${situation}\n`).join('')}
#### No difference to members

- ${describeThose({ ...bySms, phoneOnFile: true }).length} situations with the same result by another rule (rule "sms" before, rule "text" now)
`,
  )
})

t.test('text of the table is escaped', async (t) => {
  const markdown = await markdownOf(
    DEFAULT_TABLE.replace('no phone on file', '</summary> *`[x](y)` @team #1 & |'),
  )
  t.match(
    markdown,
    'SKIP (&#60;/summary&#62; &#42;&#96;&#91;x&#93;(y)&#96; &#64;team &#35;1 &#38; &#124;) for every event type',
  )
})
