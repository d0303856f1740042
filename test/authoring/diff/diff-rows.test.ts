import t from 'tap'
import { diffRows, summariseRows } from '../../../src/authoring/diff/diff-rows.ts'

const COLUMNS = ['promise', 'event type', 'party', 'outcome']
const KEPT = ['kept', '', 'found', 'not FAIL']
const OTHER = ['other', 'claim.*', '', 'not SEND']

function said(after: readonly (readonly string[])[], before = [KEPT, OTHER]) {
  return diffRows('promise', COLUMNS, before, after).map(({ text }) => text)
}

t.test('every deletion and rewording is reported, the most serious first', async (t) => {
  t.strictSame(said([OTHER]), ['promise deleted: "kept"'])
  t.strictSame(said([['kept', 'not claim.paid', 'found', 'not FAIL'], OTHER]), [
    'promise narrowed: "kept": event type "not claim.paid" instead of any',
  ])
  t.strictSame(said([['not', 'not a or b', '', 'x']], [['not', 'not a', '', 'x']]), [
    'promise narrowed: "not": event type "not a or b" instead of "not a"',
  ])
  t.strictSame(said([KEPT, ['renamed', 'claim.*', '', 'not SEND']]), [
    'promise renamed: "other" is now "renamed"',
  ])
  t.strictSame(said([KEPT, ['other, but one', 'not claim.x', '', 'SEND']]), [
    'promise changed: "other" is now "other, but one": event type "not claim.x" instead of "claim.*", outcome "SEND" instead of "not SEND"',
  ])
  t.strictSame(said([['kept', '', '', 'not FAIL'], ['new', '', 'missing', 'SKIP'], OTHER]), [
    'promise changed: "kept": party any instead of "found"',
    'promise added: "new": party "missing", outcome "SKIP"',
  ])
  t.strictSame(
    said(
      [
        ['new', 'a', 'b', 'c'],
        ['kept', 'x', 'found', 'not FAIL'],
      ],
      [OTHER, KEPT, ['third', '', '', '']],
    ),
    [
      'promise deleted: "third"',
      'promise narrowed: "kept": event type "x" instead of any',
      'promise changed: "other" is now "new": event type "a" instead of "claim.*", party "b" instead of any, outcome "c" instead of "not SEND"',
    ],
  )
})

t.test('the order of rows and blank rows make no difference', async (t) => {
  t.strictSame(said([OTHER, ['', '', '', ''], KEPT]), [])
})

t.test('one line counts the changes of each kind', async (t) => {
  const changes = diffRows(
    'rule',
    COLUMNS,
    [KEPT, OTHER, ['third', 'x', 'y', 'z']],
    [['mine', ...KEPT.slice(1)]],
  )
  t.equal(summariseRows(changes), '2 rules deleted, 1 rule renamed')
  t.equal(summariseRows([]), '')
})
