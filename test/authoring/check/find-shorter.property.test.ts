import t from 'tap'
import { findShorter } from '../../../src/authoring/check/find-shorter.ts'
import { diffRuleTables } from '../../../src/authoring/diff/compare-tables.ts'
import { enumerate } from '../../../src/service/decide/rules/first-match.ts'
import { loadRuleTable } from '../../../src/service/decide/rules/load-table.ts'
import fc from '../../stack/properties.ts'
import { rule, table } from '../build.ts'
import { createTable } from '../default-table.ts'
import { applying, isSafe, type Row, tables } from '../random-tables.ts'

const shorterOf = async (text: string) => findShorter(await enumerate(loadRuleTable(text), []))
/** The headings are row 1. */
const FIRST_ROW = 2
const SAME = { outcome: 'SKIP', reason: 'same' }

function follow(rows: readonly Row[], { row, edit }: Awaited<ReturnType<typeof shorterOf>>[number]): Row[] {
  return rows
    .map((one, at) =>
      edit !== null && at + FIRST_ROW === edit.row ? { ...one, [edit.column]: edit.cell } : one,
    )
    .filter((_, at) => at + FIRST_ROW !== row)
}

/** Two rows, one for each answer of a member, in place of the first. */
function splitFirst([first, ...others]: readonly Row[]): Row[] {
  const half = { ...(first as Row), outcome: 'SKIP', reason: 'split', 'send by': '' }
  const halves = ['yes', 'no'].map((cell) => ({ ...half, rule: `split-${cell}`, 'opted out': cell }))
  return [...halves, ...others]
}

t.test('a shorter table decides every situation as before, for random tables', async (t) => {
  const followed = { deleted: 0, merged: 0 }
  // Few reasons, so that rows decide the same.
  const alike = tables
    .map((rows) =>
      rows.map((row) => ({
        ...row,
        reason: row.reason === '' ? '' : SAME.reason,
        outcome: row.reason === '' ? 'SEND' : 'SKIP',
      })),
    )
    .map(splitFirst)
    .filter(isSafe)
    .map(applying)
  await fc.assert(
    fc.asyncProperty(alike, async (rows) => {
      const before = await createTable(table(...rows))
      for (const hint of await shorterOf(before.source)) {
        const after = await createTable(table(...follow(rows, hint)))
        const { changes } = diffRuleTables(before, after)
        if (changes.length > 0) throw new Error(`${hint.text}: ${JSON.stringify(changes[0])}`)
        followed[hint.edit === null ? 'deleted' : 'merged']++
      }
    }),
    { numRuns: 100 },
  )
  t.comment(JSON.stringify(followed))
  t.ok(followed.deleted > 0 && followed.merged > 0)
})

t.test('rows that one could replace are told with the cell to write', async (t) => {
  const hints = await shorterOf(
    table(
      rule({ rule: 'paid', eventType: 'claim.paid', ...SAME }),
      rule({ rule: 'lapsed', eventType: 'policy.lapsed', ...SAME }),
      rule({ rule: 'in', optedOut: true, reason: 'y' }),
      rule({ rule: 'out', optedOut: false, reason: 'y' }),
    ),
  )
  t.match(hints, [
    {
      row: 3,
      text: 'rules "paid" and "lapsed" could be one: in row 2, write "claim.paid or policy.lapsed" as event type, and delete row 3',
    },
    {
      row: 5,
      text: 'rules "in" and "out" could be one: in row 4, write a blank cell as opted out, and delete row 5',
    },
  ])
  t.equal(hints.length, 2)
})

t.test('a row is part of one hint', async (t) => {
  const alike = Array.from({ length: 20 }, (_, n) => rule({ rule: `r${n}`, eventType: `type-${n}`, ...SAME }))
  const hints = await shorterOf(table(...alike, rule({ rule: 'others', reason: 'other' })))
  t.equal(hints.length, 10)
})

t.test('a row that rows below replace is told; the last one for its cases is not', async (t) => {
  const hints = await shorterOf(
    table(rule({ rule: 'first', eventType: 'claim.paid', ...SAME }), rule({ rule: 'all', ...SAME })),
  )
  t.strictSame(hints, [
    { row: 2, text: 'without rule "first" every decision would be the same, by rules below it', edit: null },
  ])
})
