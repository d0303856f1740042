import t from 'tap'
import { createBacktest } from '../../../../src/authoring/back-test/decide-groups.ts'
import { compileRuleTable } from '../../../../src/authoring/check/compile-table.ts'
import { decidedAlike, diffRuleTables } from '../../../../src/authoring/diff/compare-tables.ts'
import { listOutcomes } from '../../../../src/authoring/outcomes/list-outcomes.ts'
import { tryEvent } from '../../../../src/authoring/try/try-event.ts'
import type { RecordedFacts } from '../../../../src/service/decide/decision/facts.ts'
import { describeResult, type RecordedResult } from '../../../../src/service/decide/decision/result.ts'
import { foldEventTypes } from '../../../../src/service/decide/rules/event-classes.ts'
import { eventTypeCells } from '../../../../src/service/decide/rules/event-type-cell.ts'
import { enumerate } from '../../../../src/service/decide/rules/first-match.ts'
import { describeSituation } from '../../../../src/service/decide/rules/situations.ts'
import type { RuleTable } from '../../../../src/service/decide/rules/table.ts'
import { table } from '../../../authoring/build.ts'
import { ALL_CASES, applying, type Case, isIn, isSafe, tables } from '../../../authoring/random-tables.ts'
import { templatesWith } from '../../../authoring/templates/files.ts'
import fc from '../../../stack/properties.ts'
import { aTried } from '../../build.ts'

const RUN_COUNT = 10

const templates = templatesWith({})
const servable = tables.filter(isSafe).map(applying)
/** A section of outcomes needs a name. */
const CASES = ALL_CASES.filter(({ eventType }) => eventType !== '')
const EVENT_TYPES = [...new Set(CASES.map(({ eventType }) => eventType))]
const WITHOUT_TEXTS = EVENT_TYPES.map((eventType) => ({ name: eventType, eventType, texts: [] }))

function tryOn(table: RuleTable, one: Case) {
  const { ruleId, outcome, channel, reason } = tryEvent(table, templates, aTried(one))
  return { ruleId, outcome, channel, reason }
}
type Said = RecordedResult

/** The outcome listed for a case: by its event type's own line, else by that of any other event type. */
async function outcomesOf({ rules }: RuleTable): Promise<(one: Case) => string | undefined> {
  const text = listOutcomes(await enumerate(rules, EVENT_TYPES), WITHOUT_TEXTS)
  const sections = new Map(
    text.split('\n\n').map((section) => {
      const [title = '', ...lines] = section.split('\n').filter((line) => !line.startsWith('#'))
      return [title, lines.map((line) => line.trim())]
    }),
  )
  return ({ eventType, ...situation }) => {
    const facts = describeSituation(situation).split(', ')
    return [eventType, 'any other event type']
      .flatMap((name) => sections.get(name) ?? [])
      .map((line) => line.split(': '))
      .find(([words]) => words?.split(', ').every((word) => facts.includes(word)))
      ?.slice(1)
      .join(': ')
  }
}

/** A back-test's report on events decided by the first table: the case and both results. */
function backtestOf(before: RuleTable, after: RuleTable): ReadonlyMap<string, readonly [Said, Said]> {
  const reasonOf = (_: string, id: string) => before.rules.find((rule) => rule.id === id)?.reason
  const test = createBacktest(after, reasonOf)
  for (const facts of CASES) {
    const { ruleId, outcome, channel } = before.decide(facts)
    const group = { facts, earlier: [], onRequest: false, ruleId, outcome, channel, ruleTableRevision: '' }
    test.add({ ...group, id: '', isPartyInvalid: false, count: 1, locators: [] })
  }
  return new Map(test.result().changes.map((change) => [keyOf(change.facts), [change.before, change.after]]))
}

function keyOf({ eventType, ...situation }: RecordedFacts): string {
  return `${describeSituation(situation)} ${eventType}`
}

t.test(`try, diff, outcomes and back-test agree on ${RUN_COUNT} pairs of random tables`, async (t) => {
  let changed = 0
  await fc.assert(
    fc.asyncProperty(servable, servable, async (rowsBefore, rowsAfter) => {
      const [before, after] = await Promise.all(
        [rowsBefore, rowsAfter].map((rows) => compileRuleTable(table(...rows), { eventTypes: EVENT_TYPES })),
      )
      if (before === undefined || after === undefined) throw new Error('there are two tables')
      const [outcomesBefore, outcomesAfter] = [await outcomesOf(before), await outcomesOf(after)]
      const backtested = backtestOf(before, after)
      const { changes, classes } = diffRuleTables(before, after)
      const { findClass } = foldEventTypes(eventTypeCells([...before.rules, ...after.rules]), [])
      for (const one of CASES) {
        const [was, is] = [tryOn(before, one), tryOn(after, one)]
        const of = (said: Said) => `${describeResult(said)}, rule "${said.ruleId}"`
        same(outcomesBefore(one), of(was), one)
        same(outcomesAfter(one), of(is), one)
        const expected = decidedAlike(was, is) ? undefined : [was, is]
        same(backtested.get(keyOf(one)), expected, one)
        const eventClass = classes[findClass(one.eventType)]
        const change = changes.find(
          ({ situation, eventClasses }) =>
            isIn(one, situation) && eventClasses.some((each) => each === eventClass),
        )
        same(change && [change.before, change.after], expected, one)
        if (expected !== undefined) changed++
      }
    }),
    { numRuns: RUN_COUNT },
  )
  t.ok(changed > 0, `${changed} events are decided otherwise`)
})

function same(got: unknown, expected: unknown, one: Case): void {
  if (JSON.stringify(got) !== JSON.stringify(expected))
    throw new Error(`${JSON.stringify(one)}: ${JSON.stringify(got)}, not ${JSON.stringify(expected)}`)
}
