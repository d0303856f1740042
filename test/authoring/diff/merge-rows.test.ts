import t from 'tap'
import { mergeRows } from '../../../src/authoring/diff/merge-rows.ts'

const COLUMNS = ['rule', 'party', 'outcome']
const A = ['a', 'found', 'SEND']
const B = ['b', '', 'SKIP']
const C = ['c', 'missing', 'SKIP']
const NEW = ['new', '', 'FAIL']
const BASE = [A, B, C]
const merge = (mine: string[][], theirs: string[][]) => mergeRows(COLUMNS, BASE, mine, theirs)

t.test('changes of both are kept: added, changed and deleted rows', async (t) => {
  const mine = [A, ['b', 'found', 'SKIP'], NEW, C]
  const theirs = [['theirs', 'x', 'y'], A, ['b', '', 'FAIL']]
  t.strictSame(merge(mine, theirs), {
    rows: [['theirs', 'x', 'y'], A, ['b', 'found', 'FAIL'], NEW],
    conflicts: [],
  })
  t.strictSame(merge(theirs, mine).rows, merge(mine, theirs).rows)
  t.strictSame(merge(BASE, theirs), { rows: theirs, conflicts: [] })
  t.strictSame(merge(mine, BASE), { rows: mine, conflicts: [] })
})

t.test('a row in the place of a deleted one is not taken for it', async (t) => {
  const mine = [A, NEW, C]
  const theirs = [A, ['b', 'found', 'SKIP'], C]
  t.strictSame(merge(mine, theirs), {
    rows: [A, NEW, ['b', 'found', 'SKIP'], C],
    conflicts: ['"b" was deleted by one and changed by the other: it is kept'],
  })
  t.match(merge(theirs, mine).conflicts, ['"b" was deleted by one'])
})

t.test('the order of the side that moved rows is kept', async (t) => {
  t.strictSame(merge([C, A, B], [A, B, NEW, C]).rows, [C, A, B, NEW])
  t.strictSame(merge([A, B, NEW, C], [C, A, B]).rows, [C, A, B, NEW])
})

t.test('if both sides changed the same row, mine is kept, and the conflict is reported', async (t) => {
  t.strictSame(merge([['a', 'found', 'SKIP'], B, C], [['a', 'found', 'FAIL'], B, C]), {
    rows: [['a', 'found', 'SKIP'], B, C],
    conflicts: ['"a", outcome: "SKIP" is yours, "FAIL" is in force'],
  })
  t.strictSame(merge([B, C], [['a', '', 'SEND'], B, C]), {
    rows: [['a', '', 'SEND'], B, C],
    conflicts: ['"a" was deleted by one and changed by the other: it is kept'],
  })
  t.strictSame(merge([['a', '', 'SEND'], B, C], [B, C]).rows, [['a', '', 'SEND'], B, C])
  t.strictSame(merge([A, B, C, NEW], [NEW, A, B, C]).rows, [NEW, A, B, C], 'the same row is added once')
})
