import t from 'tap'
import { placeOf } from '../../../src/core/workbench/review.ts'

t.test('a finding of a file begins with its place, if it has one', async (t) => {
  for (const [said, row, column, text] of [
    [
      'row 3, column "outcome": "SENT" is not one of SEND, SKIP',
      3,
      'outcome',
      '"SENT" is not one of SEND, SKIP',
    ],
    ['row 12: rule "a" can never apply', 12, null, 'rule "a" can never apply'],
    ['row 2 has 3 cells for 11 columns', 2, null, 'has 3 cells for 11 columns'],
    ['no rule covers: party found', null, null, 'no rule covers: party found'],
  ] as const)
    t.same(placeOf(said), { row, column, text })
})
