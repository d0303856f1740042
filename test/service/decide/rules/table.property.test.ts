import t from 'tap'
import { compileRuleTable } from '../../../../src/authoring/check/compile-table.ts'
import { UNKNOWN_CHANNEL_RULE_ID } from '../../../../src/service/decide/decision/decide.ts'
import { firstMismatch } from '../../../../src/service/decide/rules/mismatch.ts'
import { table } from '../../../authoring/build.ts'
import { ALL_CASES, applying, interpret, isSafe, type Row, tables } from '../../../authoring/random-tables.ts'
import fc from '../../../stack/properties.ts'
import { faultsOf } from '../../build.ts'

const RUN_COUNT = 25

function create(rows: readonly Row[]) {
  return compileRuleTable(table(...rows), { eventTypes: ['a', 'a.x', 'known'] })
}

t.test(`dispatch decides by the first matching row, for ${RUN_COUNT} random tables`, async (t) => {
  let served = 0
  let refused = 0
  let hidden = 0
  await fc.assert(
    fc.asyncProperty(tables, async (rows) => {
      const alive = applying(rows)
      const safe = isSafe(rows)
      if (!safe || alive.length < rows.length) {
        const faults = await faultsOf(create(rows))
        if (faults.length === 0)
          throw new Error('a table with a gap, an unsafe SEND or a dead rule was accepted')
        const hiding = faults.flatMap((fault) => /rules? (["\w, ]+) can never apply/.exec(fault)?.[1] ?? [])
        const named = hiding.flatMap((names) => names.replaceAll('"', '').split(', ')).sort()
        const dead = rows.filter((row) => !alive.includes(row)).map(({ rule }) => rule)
        if (named.join() !== dead.toSorted().join()) throw new Error(`never applying: ${named}, not ${dead}`)
        const isUnsafe = faults.some((fault) => /no rule covers|sends (by|without)/.test(fault))
        if (isUnsafe === safe) throw new Error(`safe: ${safe}, but ${faults.join('\n')}`)
        if (dead.length > 0) hidden++
      }
      if (!safe) {
        refused++
        return
      }
      served++
      const created = await create(alive)
      for (const one of ALL_CASES) {
        const { ruleId, outcome, channel, reason } = created.decide(one)
        const first = created.rules.find((rule) => firstMismatch(rule, one) === null)?.id
        if (first !== ruleId && ruleId !== UNKNOWN_CHANNEL_RULE_ID)
          throw new Error(`${ruleId} decides, but the first without a mismatch is ${first}`)
        const got = JSON.stringify({ ruleId, outcome, channel, reason })
        const expected = JSON.stringify(interpret(rows, one))
        if (got !== expected) throw new Error(`${JSON.stringify(one)}: ${got}, not ${expected}`)
      }
    }),
    { numRuns: RUN_COUNT },
  )
  t.comment(`${served} served, ${refused} refused, ${hidden} with rules that never apply`)
  t.ok(served > 0, 'some tables are served')
  t.ok(refused > 0, 'some tables are refused')
  t.ok(hidden > 0, 'some rules never apply')
})
