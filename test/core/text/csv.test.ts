import { parse } from 'csv-parse/sync'
import t from 'tap'
import { csvLine } from '../../../src/core/text/csv.ts'

t.test('a parser reads back any cells that were written', async (t) => {
  const cells = ['plain', 'a, b', 'say "no"', 'two\nlines', '', ' spaces ', 'Zürich \u{1f600}', "it's"]
  t.same(parse(csvLine(cells)), [cells])
  t.equal(csvLine(['a', null, 3]), 'a,,3\r\n')
})

t.test('no cell is a formula for a spreadsheet program', async (t) => {
  for (const begin of ['=', '+', '-', '@', '\t', '\r', '\n', '\uff1d', '\uff0b', '\uff0d', '\uff20']) {
    const cell = `${begin}cmd|' /C calc'!A0`
    t.same(parse(csvLine([cell])), [[`'${cell}`]], JSON.stringify(begin))
  }
})
