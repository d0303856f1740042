import fc from 'fast-check'
import t from 'tap'
import type { Situation } from '../../../src/core/decision/facts.ts'
import { type Change, diffRuleTables } from '../../../src/core/rules/diff.ts'
import { createRuleTable } from '../../../src/core/rules/table.ts'
import {
  ALL_CASES,
  applies,
  applying,
  csvOf,
  interpret,
  isIn,
  isSafe,
  type Row,
  tables,
} from './random-tables.ts'

const RUN_COUNT = 50

function create(csvText: string) {
  return createRuleTable(csvText, [], () => '')
}

/** Tables that can be served. */
const servable = tables.filter(isSafe).map(applying)

/** Swaps neighbours that no case is common to, and writes everything otherwise. */
function shuffle(rows: readonly Row[], positions: readonly number[]): Row[] {
  const shuffled = [...rows]
  for (const position of positions) {
    const [one, other] = shuffled.slice(position, position + 2)
    if (one === undefined || other === undefined) continue
    if (ALL_CASES.some((each) => applies(one, each) && applies(other, each))) continue
    shuffled.splice(position, 2, other, one)
  }
  return shuffled.map((row) => {
    const [negation] = /^not /.exec(row['event type']) ?? ['']
    const items = row['event type'].slice(negation.length).split(' or ')
    return { ...row, 'event type': ` ${negation}${items.reverse().join('  or ')} ` }
  })
}

t.test(`a shuffled but equivalent copy differs in nothing, for ${RUN_COUNT} random tables`, async (t) => {
  let reordered = 0
  await fc.assert(
    fc.asyncProperty(servable, fc.array(fc.nat({ max: 6 }), { maxLength: 30 }), async (rows, positions) => {
      const copy = shuffle(rows, positions)
      if (copy.some(({ rule }, position) => rule !== rows[position]?.rule)) reordered++
      const diff = diffRuleTables(await create(csvOf(rows)), await create(csvOf(copy, ';')))
      const said = JSON.stringify([diff.changes, diff.moved, diff.reworded])
      if (said !== '[[],[],[]]') throw new Error(said)
    }),
    { numRuns: RUN_COUNT },
  )
  t.comment(`${reordered} in another order`)
  t.ok(reordered > 0, 'some are in another order')
})

t.test('the diff of two random tables is where they say different things', async () => {
  await fc.assert(
    fc.asyncProperty(servable, servable, async (before, after) => {
      const { changes, moved } = diffRuleTables(await create(csvOf(before)), await create(csvOf(after)))
      const told: { situation: Situation; said: string }[] = []
      for (const change of [...changes, ...moved]) {
        told.push({ situation: change.situation, said: keyOf(change.before, change.after) })
        for (const { representative } of change.eventClasses) {
          const one = {
            optedOut: false,
            emailOnFile: null,
            phoneOnFile: null,
            ...change.situation,
            eventType: representative,
          }
          const expected = keyOf(interpret(before, one), interpret(after, one))
          const got = keyOf(change.before, change.after)
          if (got !== expected) throw new Error(`${representative}: ${got}, not ${expected}`)
        }
      }
      for (const one of ALL_CASES) {
        const said = [interpret(before, one), interpret(after, one)] as const
        const differs = JSON.stringify(said[0]) !== JSON.stringify(said[1])
        const isTold = told.some((each) => isIn(one, each.situation) && each.said === keyOf(...said))
        if (differs && !isTold) throw new Error(`not told: ${JSON.stringify(one)}`)
      }
    }),
    { numRuns: RUN_COUNT / 5 },
  )
})

type Said = Change['before'] | ReturnType<typeof interpret>

/** What two tables say. */
function keyOf(before: Said, after: Said): string {
  const said = [before, after].map((result) => [
    result?.ruleId,
    result?.outcome,
    result?.channel,
    result?.reason,
  ])
  return JSON.stringify(said)
}
