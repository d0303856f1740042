import t from 'tap'
import { createArchive } from '../../../src/core/replay/archive.ts'
import { someFacts } from '../build.ts'
import { DEFAULT_ROWS, HEADINGS } from '../rules/default-table.ts'

/** The archived table of these lines, or why it is not available. */
async function archived(...lines: string[]) {
  const archive = createArchive({
    templates: new Map(),
    readRuleTable: async () => lines.join('\n'),
    sha256: () => 'revision',
  })
  return archive.tableOf('revision')
}

t.test("a table without one of today's columns decides by its rules", async (t) => {
  const headings = HEADINGS.replace(',phone on file', '')
  const table = await archived(headings, 'a,,found,,,yes,SEND,EMAIL,,Y.', 'b,,,,,,SKIP,,x,Y.')
  if (typeof table === 'string') throw new Error(table)
  t.match(table.decide(someFacts()), { ruleId: 'a', outcome: 'SEND', channel: 'EMAIL' })
  t.match(table.decide(someFacts({ emailOnFile: false })), { ruleId: 'b', outcome: 'SKIP' })
})

t.test("a table that does not cover one of today's channels decides the cases that it covers", async (t) => {
  const table = await archived(HEADINGS, ...DEFAULT_ROWS.filter((row) => !row.includes('IN_APP')))
  if (typeof table === 'string') throw new Error(table)
  t.match(table.decide(someFacts({ preferredChannel: 'SMS' })), { ruleId: 'sms' })
  t.equal(table.decide(someFacts({ preferredChannel: 'IN_APP' })), undefined)
})

t.test('a table that tests whether an event type has a template cannot be evaluated later', async (t) => {
  const table = await archived(HEADINGS, 'a,no template,,,,,,SKIP,,x,Y.', 'b,,,,,,,SKIP,,x,Y.')
  t.match(table, /asks for event types with a template, and which had one then is not recorded$/)
})
