import { readFile } from 'node:fs/promises'
import t from 'tap'
import { PROMISE_COLUMNS } from '../../../src/core/rules/load-promises.ts'
import { COLUMNS } from '../../../src/core/rules/rule.ts'
import { gridToCsv, proposeUrlOf, readGrid } from '../../../src/core/workbench/review.ts'

t.test(
  'the shipped files are written back byte for byte, so that a diff shows only the change',
  async (t) => {
    for (const [name, columns] of [
      ['dispatch.csv', COLUMNS],
      ['promises.csv', PROMISE_COLUMNS],
    ] as const) {
      const source = await readFile(new URL(`../../../rules/${name}`, import.meta.url), 'utf8')
      const { rows } = readGrid(source, columns, 'row')
      t.equal(rows && gridToCsv(columns, rows), source, name)
    }
  },
)

t.test('cells with any content are written back; a line break becomes a space', (t) => {
  const columns = ['a', 'b', 'c']
  const cells = ['=1+1', 'x, "y"; z', "'<img src=x onerror=alert(1)>"]
  const { rows } = readGrid(gridToCsv(columns, [cells, ['two\r\nlines', '', ' c ']]), columns, 'row')
  t.same(rows, [cells, ['two lines', '', 'c']])
  t.end()
})

t.test('columns in another order and with other separators are normalised', (t) => {
  const { rows } = readGrid('b;a\n"2,5";1\n', ['a', 'b'], 'row')
  t.same(rows, [['1', '2,5']])
  t.end()
})

t.test('a file that cannot be shown as a grid has a reason', (t) => {
  const { rows, faults } = readGrid('a,oops\n1,2,3\n', ['a', 'b'], 'row')
  t.equal(rows, null)
  t.match(faults, [/^row 1: "oops" is not a column/, /^row 1: column "b" is missing/, /^row 2 has 3 cells/])
  t.end()
})

t.test('the upload link fits the forge', async (t) => {
  for (const url of ['https://github.com/a/b', 'https://github.com/a/b.git']) {
    t.equal(proposeUrlOf(url, 'rules'), 'https://github.com/a/b/upload/main/rules')
    t.equal(proposeUrlOf(url, ''), 'https://github.com/a/b/upload/main')
  }
  t.equal(
    proposeUrlOf('https://gitlab.insurer.example/x/a/b', 'rules'),
    'https://gitlab.insurer.example/x/a/b/-/tree/main/rules',
  )
})
