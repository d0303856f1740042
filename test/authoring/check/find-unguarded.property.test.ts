import t from 'tap'
import { findUnguarded } from '../../../src/authoring/check/find-unguarded.ts'
import { OUTCOMES } from '../../../src/service/decide/decision/result.ts'
import { enumerate } from '../../../src/service/decide/rules/first-match.ts'
import { loadPromises } from '../../../src/service/decide/rules/load-promises.ts'
import { loadRuleTable } from '../../../src/service/decide/rules/load-table.ts'
import fc from '../../stack/properties.ts'
import { promises, table } from '../build.ts'
import { ALL_CASES, applies, applying, interpret, isSafe, type Row, tables } from '../random-tables.ts'

const EXPECTED: Readonly<Record<string, (outcome: string, channel: string) => boolean>> = {
  SKIP: (outcome) => outcome === 'SKIP',
  FAIL: (outcome) => outcome === 'FAIL',
  'not SEND': (outcome) => outcome !== 'SEND',
  'not by SMS': (outcome, channel) => outcome !== 'SEND' || channel !== 'SMS',
}
/** The conditions of random rows, each with something that is promised there. */
const promised = fc
  .tuple(tables, fc.array(fc.constantFrom(...Object.keys(EXPECTED)), { minLength: 1, maxLength: 3 }))
  .map(([rows, expected]) =>
    expected.flatMap((outcome, at) => {
      const { because: _, rule, ...row } = rows[at] ?? ({} as Row)
      return rule === undefined ? [] : [{ ...row, promise: rule, outcome, reason: '', 'send by': '' }]
    }),
  )

t.test('a rule is unguarded if any other outcome of it keeps all promises, for random tables', async (t) => {
  const counts = { guarded: 0, unguarded: 0 }
  await fc.assert(
    fc.asyncProperty(tables.filter(isSafe).map(applying), promised, async (rows, lines) => {
      const rules = loadRuleTable(table(...rows))
      const found = findUnguarded(loadPromises(promises(...lines), rules), await enumerate(rules, []))
      const expected = rows.filter(({ rule, outcome: own }) => {
        const cases = ALL_CASES.filter((one) => interpret(rows, one)?.ruleId === rule)
        const others = OUTCOMES.filter((outcome) => outcome !== own)
        return !cases.some((one) =>
          lines.some(
            (line) =>
              applies({ ...line, rule: '', because: '' }, one) &&
              others.some((outcome) => !EXPECTED[line.outcome]?.(outcome, one.preferredChannel)),
          ),
        )
      })
      counts.unguarded += expected.length
      counts.guarded += rows.length - expected.length
      t.strictSame(
        found.map(({ id }) => id),
        expected.map(({ rule }) => rule),
      )
    }),
    { numRuns: 60 },
  )
  t.comment(JSON.stringify(counts))
  t.ok(counts.guarded > 0 && counts.unguarded > 0)
})
