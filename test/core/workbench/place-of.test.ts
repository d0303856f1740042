import t from 'tap'
import { placeOf } from '../../../src/core/workbench/review.ts'

t.test('a finding of a file begins with its place, if it has one', async (t) => {
  t.same(placeOf('row 3, column "outcome": "SENT" is not one of SEND, SKIP, FAIL'), {
    row: 3,
    column: 'outcome',
    text: '"SENT" is not one of SEND, SKIP, FAIL',
  })
  t.same(placeOf('row 12: rule "a" can never apply'), {
    row: 12,
    column: null,
    text: 'rule "a" can never apply',
  })
  t.same(placeOf('row 2 has 3 cells for 11 columns'), {
    row: 2,
    column: null,
    text: 'has 3 cells for 11 columns',
  })
  t.same(placeOf('no rule covers: party found'), {
    row: null,
    column: null,
    text: 'no rule covers: party found',
  })
})
