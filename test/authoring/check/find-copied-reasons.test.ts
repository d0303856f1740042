import t from 'tap'
import { findCopiedReasons } from '../../../src/authoring/check/find-copied-reasons.ts'
import { loadRuleTable } from '../../../src/service/decide/rules/load-table.ts'
import { describeFault } from '../../../src/service/text/faults.ts'
import { type Row, rule, table } from '../build.ts'

const rulesOf = (...rows: Row[]) => loadRuleTable(table(...rows))
const A = { rule: 'a', because: 'A.' }

t.test('an explanation is doubtful if it is a copy, or if it stayed while the rule changed', async (t) => {
  const before = rulesOf(rule(A), rule({ rule: 'b', because: 'B.', outcome: 'SEND', sendBy: 'SMS' }))
  const cases: readonly (readonly [Row, RegExp | null])[] = [
    [rule(A), null],
    [rule({ ...A, reason: 'another' }), null],
    [rule({ ...A, outcome: 'SEND' }), /^row 2, column "because": it stayed as it was/],
    [rule({ ...A, outcome: 'SEND', because: 'Now.' }), null],
    [rule({ rule: 'b', because: 'B.', outcome: 'SEND', sendBy: 'EMAIL' }), /it stayed as it was/],
    [rule({ rule: 'c', because: 'A.', outcome: 'SEND' }), null],
  ]
  for (const [row, warning] of cases)
    t.match(
      findCopiedReasons(rulesOf(row), before).map(describeFault),
      warning === null ? { length: 0 } : [warning],
    )
  t.strictSame(findCopiedReasons(rulesOf(rule(A), rule({ ...A, rule: 'a-copy' }))).map(describeFault), [
    'row 3, column "because": it is word for word that of rule "a" (row 2): members hear it when they ask why',
  ])
})
