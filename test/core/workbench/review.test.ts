import { readFile } from 'node:fs/promises'
import t from 'tap'
import { createRuleTable } from '../../../src/core/rules/table.ts'
import { type Review, reviewCandidate } from '../../../src/core/workbench/review.ts'

const read = (name: string) => readFile(new URL(`../../../rules/${name}`, import.meta.url), 'utf8')
const [table, promises] = await Promise.all([read('dispatch.csv'), read('promises.csv')])
const KNOWN = ['claim.paid', 'invoice.paid']
const tableOf = (csvText: string) => createRuleTable(csvText, KNOWN, () => 'x')
const inForce = { ruleTable: await tableOf(table), promises }
const reviewOf = (change: (table: string) => string): Promise<Review> =>
  reviewCandidate({ table: change(table), promises }, inForce, KNOWN, tableOf)
const MUTED = 'muted,invoice.paid,found,,,,,SKIP,,muted,Nobody wants it.\n'

t.test('the table in force has no fault, keeps all promises and changes nothing', async (t) => {
  const { table, promises, diff } = await reviewOf((text) => text)
  t.same([table.faults, promises.faults], [[], []])
  t.match(promises.summary, '6 promises, all kept')
  t.same(diff, { summary: '0 situations change', groups: [], rest: [] })
})

t.test('faults are told at their cell, and leave nothing to compare', async (t) => {
  const { table, promises, diff } = await reviewOf((text) => text.replace('SKIP', 'SKIPP'))
  t.match(table.faults, [{ row: 3, column: 'outcome', text: /SKIPP/ }])
  t.equal(diff, null)
  t.equal(promises.summary, null, 'nor are promises held against it')
})

t.test('changes are in groups, the most harmful kind first', async (t) => {
  const { diff } = await reviewOf((text) => text.replace('opted-out', `${MUTED}opted-out`))
  t.match(diff, {
    summary: '24 situations change: 8 no longer sent, 0 newly sent, 16 with another reason only',
    groups: [
      { kind: 'no longer sent', count: 8, sentences: { 0: { situations: { length: Number } } }, leftOut: 0 },
      { kind: 'with another reason only', count: 16 },
    ],
  })
})

t.test('a broken promise is told at its row, with what would change', async (t) => {
  const { promises, diff } = await reviewOf((text) => text.replace('opted-out,,', 'opted-out,claim.paid,'))
  t.match(promises.faults, [{ row: 2, column: null, text: /^"A party that opted out .*" promises not SEND/ }])
  t.match(diff, { groups: [{ kind: 'newly sent' }, {}] })
})

t.test(
  'a row of either file that is deleted, narrowed or renamed is told, though no decision changes',
  async (t) => {
    const reviewed = await reviewCandidate(
      {
        table: table.replace('\nsms,', '\ntext,'),
        promises: promises
          .replace(/^Nobody is written to by SMS.*\n/m, ',,,,,,,,,\n')
          .replace('never told of it,,', 'never told of it,not claim.paid,'),
      },
      inForce,
      KNOWN,
      tableOf,
    )
    t.equal(reviewed.promises.summary, '5 promises, all kept')
    t.same(reviewed.rows, {
      summary: '1 promise deleted, 1 promise narrowed, 1 rule renamed',
      changes: [
        'promise deleted: "Nobody is written to by SMS without a phone number"',
        'promise narrowed: "A party that opted out of an event type is never told of it": event type "not claim.paid" instead of any',
        'rule renamed: "sms" is now "text"',
      ],
    })
  },
)

t.test('of many thousand faults the first 200 are told, and how many there are', async (t) => {
  const { table } = await reviewOf((text) => `${text}${'x\n'.repeat(5_000)}`)
  t.equal(table.faults.length, 200)
  t.ok(table.faultsLeftOut.count >= 4_800)
  const told = new Set(table.faults.map(({ row }) => row))
  t.ok(table.faultsLeftOut.rows.length > 0)
  t.ok(table.faultsLeftOut.rows.every((row) => !told.has(row)))
})

t.test('rows of broken promises that are not told are named as such', async (t) => {
  const [head = ''] = promises.split('\n')
  const broken = Array.from({ length: 300 }, (_, i) => `promise ${i},claim.paid,found,no,EMAIL,yes,,SEND,,`)
  const reviewed = await reviewCandidate(
    {
      table: table.replace('opted-out', `all,,,,,,,SKIP,,muted,Nobody wants it.\nopted-out`),
      promises: [head, ...broken, ''].join('\n'),
    },
    inForce,
    KNOWN,
    tableOf,
  )
  const { faults, faultsLeftOut } = reviewed.promises
  const rows = new Set([...faults.map(({ row }) => row), ...faultsLeftOut.rows])
  t.equal(rows.size, 300)
})
