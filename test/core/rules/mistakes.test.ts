import { readFileSync } from 'node:fs'
import fc from 'fast-check'
import t from 'tap'
import { checkRuleFiles } from '../../../src/core/rules/check-files.ts'
import { checkPromises } from '../../../src/core/rules/check-promises.ts'
import { diffRuleTables } from '../../../src/core/rules/diff.ts'
import { enumerate } from '../../../src/core/rules/enumerate-situations.ts'
import { findFaults } from '../../../src/core/rules/find-faults.ts'
import { loadPromises } from '../../../src/core/rules/load-promises.ts'
import { loadRuleTable } from '../../../src/core/rules/load-table.ts'
import { findUnnoticedMistakes, type Mistake, possibleMistakes } from '../../../src/core/rules/mistakes.ts'
import { type Rule, resultOf } from '../../../src/core/rules/rule.ts'
import type { RuleTable } from '../../../src/core/rules/table.ts'
import { EVENT_TYPES } from '../templates/specified-event-types.ts'
import { DEFAULT_ROWS, HEADINGS } from './default-table.ts'
import { applying, csvOf, isSafe, tables } from './random-tables.ts'

const shipped = (name: string) => readFileSync(new URL(`../../../rules/${name}.csv`, import.meta.url), 'utf8')

t.test('the shipped promises notice every mistake in the shipped table', async (t) => {
  const { possibleCount, unnoticed } = findUnnoticedMistakes(
    loadRuleTable(shipped('dispatch')).rules,
    shipped('promises'),
  )
  t.ok(possibleCount > 10, `${possibleCount} possible mistakes`)
  t.strictSame(
    unnoticed.map(({ words }) => words),
    [],
  )
})

t.test('a table that tells nobody of any known event type breaks a promise of each domain', async (t) => {
  for (const eventTypes of [EVENT_TYPES.join(' or '), 'any template']) {
    const table = [HEADINGS, `all,${eventTypes},found,,,,,SKIP,,muted,Y.`, ...DEFAULT_ROWS].join('\n')
    const report = await checkRuleFiles(table, shipped('promises'), EVENT_TYPES)
    t.strictSame(report.table.faults, [])
    for (const domain of ['a claim is paid', 'an invoice is overdue', 'a policy is cancelled'])
      t.match(report.promises.faults.join('\n'), `"A member is told that ${domain}"`, eventTypes)
  }
})

const [PROMISE_HEADINGS] = shipped('promises').split('\n')

t.test('each kind of mistake is told in words', async (t) => {
  const { rules } = loadRuleTable(
    `${HEADINGS}\nmuted,claim.paid,,,,,,SKIP,,x,Y.\nno-app,invoice.*,found,,,,,SEND,IN_APP,,Y.\nrest,,,,,,,SKIP,,x,Y.`,
  )
  const { possibleCount, unnoticed } = findUnnoticedMistakes(
    rules,
    `${PROMISE_HEADINGS}\nA paid claim is never left to a retry,claim.paid,,,,,,not FAIL,,`,
  )
  t.equal(possibleCount - unnoticed.length, 1, 'the muted type failing')
  t.strictSame(
    unnoticed.map(({ words }) => words),
    [
      'rule "no-app" (row 3) is removed',
      'rule "no-app" (row 3) is a SKIP, not a SEND',
      'rule "no-app" (row 3) is a FAIL, not a SEND',
      'rule "no-app" (row 3) is for any event type',
      'rule "rest" (row 4) is a FAIL, not a SKIP',
    ],
  )
})

/** By the engine, which the code under test does without. */
async function decided(rules: readonly Rule[]) {
  const enumeration = await enumerate(rules, [])
  const { answers, positionOf } = enumeration
  const ruleFor: Parameters<typeof checkPromises>[2] = (facts) => answers[positionOf(facts)]?.rule ?? null
  const decide: RuleTable['decide'] = (facts) => resultOf(ruleFor(facts) as Rule, facts)
  return {
    isValid: findFaults(enumeration).length === 0,
    keeps: (promisesText: string) =>
      checkPromises(loadPromises(promisesText, rules), rules, ruleFor).faults.length === 0,
    table: { revision: '', source: '', rules, decide },
  }
}

const PARTIES = ['found', 'not found', 'unresolved', 'missing']

t.test('of random tables, exactly the mistakes that break no promise are unnoticed', async (t) => {
  let noticedCount = 0
  let unnoticedCount = 0
  const safe = tables.filter(isSafe).map(applying)
  await fc.assert(
    fc.asyncProperty(safe, fc.nat(), async (rows, dice) => {
      const { rules } = loadRuleTable(csvOf(rows))
      const before = await decided(rules)
      const candidates = rules.map(
        ({ outcome }, i) =>
          `p${i},${dice & (1 << i) ? 'any other' : ''},${PARTIES[(dice >> i) % 4]},,,,,${outcome},,`,
      )
      const promisesOf = (kept: readonly string[]) => [PROMISE_HEADINGS, ...kept].join('\n')
      const kept = candidates.filter((one) => before.keeps(promisesOf([one])))
      if (!before.isValid || kept.length === 0) return
      const promises = promisesOf(kept)
      const { possibleCount, unnoticed } = findUnnoticedMistakes(rules, promises)
      const words = new Set(unnoticed.map((mistake) => mistake.words))
      const counting: Mistake[] = []
      for (const mistake of possibleMistakes(rules)) {
        const after = await decided(mistake.rules)
        if (!after.isValid || diffRuleTables(before.table, after.table).changes.length === 0) continue
        counting.push(mistake)
        if (after.keeps(promises) !== words.has(mistake.words)) throw new Error(mistake.words)
      }
      if (possibleCount !== counting.length) throw new Error(`${possibleCount}, not ${counting.length}`)
      unnoticedCount += unnoticed.length
      noticedCount += possibleCount - unnoticed.length
    }),
    { numRuns: Number(process.env.MISTAKE_RUNS ?? 10) },
  )
  t.ok(noticedCount > 0 && unnoticedCount > 0, `${noticedCount} noticed, ${unnoticedCount} unnoticed`)
})
