import { readFileSync } from 'node:fs'
import t from 'tap'
import { checkRuleFiles } from '../../src/authoring/check/check-files.ts'
import { compileRuleTable } from '../../src/authoring/check/compile-table.ts'
import { diffRuleTables } from '../../src/authoring/diff/compare-tables.ts'
import { describeDiff } from '../../src/authoring/diff/diff-text.ts'
import { DEFAULT_PROMISES, DEFAULT_TABLE } from './default-table.ts'
import { EVENT_TYPES } from './templates/specified-event-types.ts'

const page = readFileSync(new URL('../../rules/README.md', import.meta.url), 'utf8')
const sections = page.split('## Changes, worked through').at(-1)?.split(/^### /m).slice(1) ?? []
const TABLE = DEFAULT_TABLE.trim().split('\n')
const PROMISES = DEFAULT_PROMISES.trim().split('\n')

/** The first cell. */
const nameOf = (row: string) => /^"([^"]*)"|^([^,]*)/.exec(row)?.slice(1).join('') ?? ''

/** With a row of the same name, or of one that only says more, in its place; others above the row of that name, or last. */
function changed(lines: readonly string[], rows: readonly string[], aboveName: string): string {
  const after = [...lines]
  for (const row of rows) {
    const same = after.findIndex((line) => `${nameOf(row)}, but`.startsWith(`${nameOf(line)}, but`))
    const above = after.findIndex((line) => nameOf(line) === aboveName)
    if (same !== -1) after[same] = row
    else after.splice(above === -1 ? after.length : above, 0, row)
  }
  return after.join('\n')
}

/** The tables and promises that a section of the page makes of the default ones. */
function applied(section: string) {
  const [rows = [], promises = []] = [...section.matchAll(/```csv\n(.*?)\n```/gs)].map(([, block = '']) =>
    block.split('\n'),
  )
  const [, aboveName = ''] = /above `([\w-]+)`/.exec(section) ?? []
  return { table: changed(TABLE, rows, aboveName), promises: changed(PROMISES, promises, '') }
}

/** The changes of the page, and how many of the promises as they were each breaks. */
const CHANGES: Readonly<Record<string, number>> = {
  'Mute a type': 0,
  'A type that never goes by SMS': 0,
  'A critical type that ignores the opt-out': 1,
  'Nothing for unknown types': 0,
  'An overdue invoice by SMS': 0,
}
const loaded = (table: string) => compileRuleTable(table, { eventTypes: EVENT_TYPES })
const before = await loaded(TABLE.join('\n'))

t.test('each section of the page has its change', async (t) => {
  t.strictSame(
    sections.map((section) => section.split('\n')[0]),
    Object.keys(CHANGES),
  )
})

for (const [index, [title, brokenCount]] of Object.entries(CHANGES).entries()) {
  t.test(`"${title}" passes every check and changes what the page says`, async (t) => {
    const section = sections[index] ?? ''
    const { table: tableText, promises: promisesText } = applied(section)
    const { table, promises } = await checkRuleFiles(tableText, promisesText, EVENT_TYPES)
    t.strictSame([...table.faults, ...table.warnings, ...promises.faults, ...promises.warnings], [])
    const unchanged = await checkRuleFiles(tableText, PROMISES.join('\n'), EVENT_TYPES)
    t.equal(unchanged.promises.faults.length, brokenCount, 'of the promises as they were')

    const after = await loaded(tableText)
    t.match(section, `The summary says: ${describeDiff(diffRuleTables(before, after))[0]}`)
  })
}
