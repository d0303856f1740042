import { parse } from 'csv-parse/sync'
import t from 'tap'
import { csvLine } from '../../../src/service/text/csv.ts'
import { databaseUrls } from '../../../src/service/text/database-urls.ts'

t.test('a parser reads back any cells that were written', async (t) => {
  const cells = ['plain', 'a, b', 'say "no"', 'two\nlines', '', ' spaces ', 'Zürich \u{1f600}', "it's"]
  t.strictSame(parse(csvLine(cells)), [cells])
  t.equal(csvLine(['a', null, 3]), 'a,,3\r\n')
})

t.test('no cell is a formula for a spreadsheet program', async (t) => {
  for (const begin of ['=', '+', '-', '@', '\t', '\r', '\n', '\uff1d', '\uff0b', '\uff0d', '\uff20']) {
    const cell = `${begin}cmd|' /C calc'!A0`
    t.strictSame(parse(csvLine([cell])), [[`'${cell}`]], JSON.stringify(begin))
  }
})

t.test('blanks before a formula make it no text', async (t) => {
  for (const blank of [
    ' ',
    '\t',
    '\r',
    '\n',
    '\u00a0',
    '\u3000',
    '\ufeff',
    '\u200b',
    '\0',
    '"',
    ' \u00a0\r\n',
  ])
    for (const begin of ['=', '+', '-', '@', '\uff1d', '\uff0b', '\uff0d', '\uff20', '\ufe66']) {
      const read = parse(csvLine([`${blank}${begin}1+1`]), { bom: false })[0]?.[0] ?? ''
      t.match(
        read.replace(/^'/, ''),
        /^[^=+\-@\uff1d\uff0b\uff0d\uff20\ufe66]*'[^'\w]1\+1$/,
        JSON.stringify(blank + begin),
      )
      t.equal(read.replaceAll("'", ''), `${blank}${begin}1+1`, 'all else stays')
    }
})

t.test('no part of a cell is a formula, however a program separates cells', async (t) => {
  for (const separator of [';', '; ', ';"', '\t', '\r\n', '\n ', ';;'])
    for (const begin of ['=', '+', '-', '@', '\uff1d']) {
      const line = csvLine(['x', `a${separator}${begin}1+1;`, 'y'])
      t.strictSame(parse(line), [['x', `a${separator}'${begin}1+1;`, 'y']], JSON.stringify(separator + begin))
      for (const piece of line.split(/[;\t\r\n]/)) t.notMatch(piece, /^[\s"]*[=+\-@\uff1d]/)
    }
  for (const begin of ['\t=', '\n=', '\r+', '\t\t@'])
    for (const piece of csvLine([`${begin}1+1\t`]).split(/[;\t\r\n]/)) t.notMatch(piece, /^[\s"]*[=+\-@]/)
  t.strictSame(parse(csvLine(['a-b = c; d+e'])), [['a-b = c; d+e']], 'other text stays')
})

t.test('a URL with several hosts becomes one URL for each, otherwise unchanged', async (t) => {
  t.strictSame(databaseUrls('postgres://u:p@a:1,b,[::1]:3/db?sslmode=require'), [
    'postgres://u:p@a:1/db?sslmode=require',
    'postgres://u:p@b/db?sslmode=require',
    'postgres://u:p@[::1]:3/db?sslmode=require',
  ])
})

t.test('a URL with one host stays unchanged, even with commas elsewhere', async (t) => {
  for (const url of [
    'postgres://u:a%2Cb@h:1/d,b?x=1,2',
    'postgres://u:p,q@h/db',
    'postgresql:///db',
    'no URL',
  ])
    t.strictSame(databaseUrls(url), [url])
})
