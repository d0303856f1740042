import { readFileSync } from 'node:fs'
import t from 'tap'
import type { Facts } from '../../../src/core/decision/facts.ts'
import { checkRuleFiles } from '../../../src/core/rules/check-files.ts'
import { diffRuleTables } from '../../../src/core/rules/diff.ts'
import { describeDiff } from '../../../src/core/rules/diff-text.ts'
import { createRuleTable } from '../../../src/core/rules/table.ts'
import { someFacts } from '../build.ts'
import { EVENT_TYPES } from '../templates/specified-event-types.ts'
import { DEFAULT_ROWS, HEADINGS } from './default-table.ts'

const page = readFileSync(new URL('../../../rules/README.md', import.meta.url), 'utf8')
const sections = page.split('## Eight changes, worked through').at(-1)?.split(/^### /m).slice(1) ?? []
const TABLE = [HEADINGS, ...DEFAULT_ROWS]
const PROMISES = readFileSync(new URL('first-promises.csv', import.meta.url), 'utf8')
  .trim()
  .split('\n')

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

/** The tables and promises that a section of the page makes of the first ones. */
function applied(section: string) {
  const [rows = [], promises = []] = [...section.matchAll(/```csv\n(.*?)\n```/gs)].map(([, block = '']) =>
    block.split('\n'),
  )
  const [, aboveName = ''] = /above `([\w-]+)`/.exec(section) ?? []
  return { table: changed(TABLE, rows, aboveName), promises: changed(PROMISES, promises, '') }
}

type Decides = readonly [
  facts: Partial<Facts>,
  decision: { outcome: string; channel?: string; reason?: string },
]
const SEND = { outcome: 'SEND' }
const SKIP = { outcome: 'SKIP' }
const by = (channel: string) => ({ outcome: 'SEND', channel })
const BY_SMS = { preferredChannel: 'SMS' } as const
const NO_PHONE = { preferredChannel: 'SMS', phoneOnFile: false } as const
const PAID = { eventType: 'invoice.paid' }
const OVERDUE = { eventType: 'invoice.overdue' }
const CLAIM = { eventType: 'claim.paid' }
const CHANNELS = ['EMAIL', 'SMS', 'IN_APP'] as const
const muted = (eventType: string): Decides => [{ eventType }, { outcome: 'SKIP', reason: 'event type muted' }]

/** The changes of the page: what each decides of a rejected claim, but for these facts, and how many promises it breaks. */
const CHANGES: Readonly<Record<string, readonly [brokenCount: number, ...Decides[]]>> = {
  'Mute a type': [0, [PAID, SKIP], [{}, SEND]],
  'A type that never goes by SMS': [
    0,
    [BY_SMS, by('EMAIL')],
    [{ ...BY_SMS, emailOnFile: false }, SKIP],
    [{ ...BY_SMS, ...PAID }, by('SMS')],
  ],
  'A critical type that ignores the opt-out': [
    1,
    [{ optedOut: true }, SEND],
    [{ optedOut: true, ...PAID }, SKIP],
  ],
  'Claims by email where there is no phone': [
    0,
    [{ ...NO_PHONE, ...CLAIM }, by('EMAIL')],
    [{ ...NO_PHONE, ...CLAIM, optedOut: true }, SKIP],
    [{ ...NO_PHONE, ...CLAIM, emailOnFile: false }, SKIP],
    [{ ...NO_PHONE, ...PAID }, SKIP],
  ],
  'Mute two types': [0, muted('invoice.finalised'), muted('payment.received'), [PAID, SEND]],
  'A lapsed policy in spite of an opt-out': [
    1,
    [{ eventType: 'policy.lapsed', optedOut: true }, SEND],
    [{ eventType: 'policy.issued', optedOut: true }, SKIP],
  ],
  'Nothing for unknown types': [
    0,
    ...EVENT_TYPES.map((eventType): Decides => [{ eventType }, SEND]),
    ...CHANNELS.map(
      (preferredChannel): Decides => [
        { eventType: 'consent.given', preferredChannel },
        { outcome: 'SKIP', reason: 'no text for this event type' },
      ],
    ),
  ],
  'An overdue invoice by SMS': [
    0,
    ...CHANNELS.map((preferredChannel): Decides => [{ ...OVERDUE, preferredChannel }, by('SMS')]),
    [{ ...OVERDUE, phoneOnFile: false }, by('EMAIL')],
    [{ ...OVERDUE, optedOut: true }, SKIP],
  ],
}
const loaded = (table: string) => createRuleTable(table, EVENT_TYPES, () => 'revision')
const before = await loaded(TABLE.join('\n'))

t.test('each section of the page has its change', async (t) => {
  t.strictSame(
    sections.map((section) => section.split('\n')[0]),
    Object.keys(CHANGES),
  )
})

for (const [index, [title, [brokenCount, ...decisions]]] of Object.entries(CHANGES).entries()) {
  t.test(`"${title}" passes every check and does what the page says`, async (t) => {
    const section = sections[index] ?? ''
    const { table: tableText, promises: promisesText } = applied(section)
    const { table, promises } = await checkRuleFiles(tableText, promisesText, EVENT_TYPES)
    t.strictSame([...table.faults, ...table.warnings, ...promises.faults, ...promises.warnings], [])
    const unchanged = await checkRuleFiles(tableText, PROMISES.join('\n'), EVENT_TYPES)
    t.equal(unchanged.promises.faults.length, brokenCount, 'of the promises as they were')

    const after = await loaded(tableText)
    t.match(section, `The summary says: ${describeDiff(diffRuleTables(before, after))[0]}`)
    for (const [facts, decision] of decisions)
      t.match(
        after.decide(someFacts({ eventType: 'claim.rejected', ...facts })),
        decision,
        JSON.stringify(facts),
      )
  })
}
