import { readFile } from 'node:fs/promises'
import t from 'tap'
import { PROMISE_COLUMNS } from '../../../src/core/rules/load-promises.ts'
import { COLUMNS } from '../../../src/core/rules/rule.ts'
import { gridToCsv } from '../../../src/core/workbench/grid-to-csv.ts'
import { readGrid } from '../../../src/core/workbench/workbench.ts'

t.test('the shipped files come back byte for byte, so that a change shows nothing but itself', async (t) => {
  for (const [name, columns] of [
    ['dispatch.csv', COLUMNS],
    ['promises.csv', PROMISE_COLUMNS],
  ] as const) {
    const source = await readFile(new URL(`../../../rules/${name}`, import.meta.url), 'utf8')
    const { grid } = readGrid(source, columns, 'row')
    t.equal(grid && gridToCsv(grid), source, name)
  }
})

t.test('cells come back whatever is in them, and a line break becomes a space', (t) => {
  const columns = ['a', 'b', 'c']
  const cells = ['=1+1', 'x, "y"; z', "'<img src=x onerror=alert(1)>"]
  const { grid } = readGrid(
    gridToCsv({ columns, rows: [cells, ['two\r\nlines', '', ' c ']] }),
    columns,
    'row',
  )
  t.same(grid?.rows, [cells, ['two lines', '', 'c']])
  t.end()
})

t.test('columns in another order and with other separators are put in ours', (t) => {
  const { grid } = readGrid('b;a\n"2,5";1\n', ['a', 'b'], 'row')
  t.same(grid, { columns: ['a', 'b'], rows: [['1', '2,5']] })
  t.end()
})

t.test('what cannot be a grid is told why', (t) => {
  const { grid, faults } = readGrid('a,oops\n1,2,3\n', ['a', 'b'], 'row')
  t.equal(grid, null)
  t.match(faults, [/^row 1: "oops" is not a column/, /^row 1: column "b" is missing/, /^row 2 has 3 cells/])
  t.end()
})
