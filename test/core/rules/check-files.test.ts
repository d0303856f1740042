import t from 'tap'
import { CHANNELS } from '../../../src/core/decision/channel.ts'
import { checkRuleFiles } from '../../../src/core/rules/check-files.ts'
import { loadRuleTable } from '../../../src/core/rules/load-table.ts'
import { firstMismatch } from '../../../src/core/rules/mismatch.ts'
import { decideByRule } from '../../../src/core/rules/rule.ts'
import { describeSituation } from '../../../src/core/rules/situations.ts'
import { createRuleTable } from '../../../src/core/rules/table.ts'
import { inWords } from '../build.ts'
import { EVENT_TYPES } from '../templates/specified-event-types.ts'
import { above, DEFAULT_PROMISES, DEFAULT_ROWS, HEADINGS, rowOf, SITUATIONS } from './default-table.ts'

const [PROMISE_HEADINGS] = DEFAULT_PROMISES.split('\n')

async function review(rows: readonly string[], asked: readonly string[] | null = null) {
  const promisesText = asked === null ? DEFAULT_PROMISES : [PROMISE_HEADINGS, ...asked].join('\n')
  const { table, promises } = await checkRuleFiles([HEADINGS, ...rows].join('\n'), promisesText, EVENT_TYPES)
  return { table: inWords(table), promises: inWords(promises) }
}

t.test('the default table keeps the default promises', async (t) => {
  const { table, promises } = await review(DEFAULT_ROWS)
  const none = { faults: [], warnings: [] }
  t.strictSame(table, {
    ...none,
    summary: `${DEFAULT_ROWS.length} rules for the ${SITUATIONS.length} situations of any event type`,
  })
  t.strictSame(promises, { ...none, summary: '6 promises, all kept' })
})

/** The rows' result for each situation, without the engine. */
function outcomes(rows: readonly string[]): (string | null)[] {
  const { rules } = loadRuleTable([HEADINGS, ...rows].join('\n'))
  return SITUATIONS.map((situation) => {
    const rule = rules.find((one) => firstMismatch(one, { eventType: 'any.type', ...situation }) === null)
    if (rule === undefined) return null
    const { outcome, channel, reason } = decideByRule(rule, situation)
    return [outcome, channel, reason].join()
  })
}

t.test('without any one of its rows the table has faults that name each situation', async (t) => {
  const before = outcomes(DEFAULT_ROWS)
  for (const [index, row] of DEFAULT_ROWS.entries()) {
    const rows = DEFAULT_ROWS.toSpliced(index, 1)
    const after = outcomes(rows)
    const changed = SITUATIONS.filter(
      (_, position) => before[position] !== after[position] && !after[position]?.startsWith('SKIP'),
    )
    t.ok(changed.length > 0, `${row.split(',')[0]}: ${changed.length} situations change`)
    const { table, promises } = await review(rows)
    const faults = [...table.faults, ...promises.faults].join('\n')
    for (const situation of changed) t.match(faults, `: ${describeSituation(situation)} (`)
  }
})

t.test('a fault has its place as data, and that of a broken promise the cell that mends it', async (t) => {
  const table = [
    HEADINGS,
    ...DEFAULT_ROWS.map((row) => row.replace('opted-out,,', 'opted-out,not claim.paid or x,')),
  ]
  const promises = [PROMISE_HEADINGS, 'a,not x,,yes,,,,not SEND,,', 'b,,missing,,,yes,,FAIL,,']
  const found = await checkRuleFiles(table.join('\n'), promises.join('\n'), EVENT_TYPES)
  t.match(found.promises.faults, [
    { row: 2, column: null, exclude: { eventTypes: ['claim.paid'], cell: 'not x or claim.paid' } },
    { row: 3, column: 'promise', exclude: undefined },
  ])
  const unnamed = [PROMISE_HEADINGS, 'a,,missing,,,,,FAIL,,'].join('\n')
  const [broken] = (await checkRuleFiles(table.join('\n'), unnamed, EVENT_TYPES)).promises.faults
  t.match(broken, { row: 2, exclude: undefined }, 'types without names cannot be left out')
  const gap = await checkRuleFiles(table.slice(0, -1).join('\n'), unnamed, EVENT_TYPES)
  t.match(gap.table.faults[0], { row: null, column: null, text: /^no rule covers/ })
})

t.test('a table without the column of the opt-out breaks the promise about it', async (t) => {
  const table =
    'rule,event type,party,outcome,send by,reason,because\na,,found,SEND,IN_APP,,Y.\nb,,,SKIP,,x,Y.'
  const { promises } = await checkRuleFiles(table, DEFAULT_PROMISES, EVENT_TYPES)
  t.match(promises.faults, [{ row: 2, text: /opted out .* promises that nothing is sent/ }])
})

t.test('a broken promise names each situation, with the rule that breaks it', async (t) => {
  const rows = DEFAULT_ROWS.map((row) => row.replace('opted-out,,', 'opted-out,not claim.rejected,'))
  const { promises } = await review(rows, [
    'Opted out is opted out,,,yes,SMS,,,not SEND,,',
    'Fine,,missing,,,,,SKIP,,',
  ])
  t.strictSame(promises.faults, [
    'row 2: "Opted out is opted out" promises that nothing is sent, but it is\n' +
      `  sent by SMS by rule "sms" (row ${rowOf('sms')}): party found, opted out, prefers SMS, no email on file, phone on file (claim.rejected)\n` +
      `  sent by SMS by rule "sms" (row ${rowOf('sms')}): party found, opted out, prefers SMS, email on file, phone on file (claim.rejected)\n` +
      '  If you mean it, write "not claim.rejected" as the event type of the promise',
  ])
  const [cell] = (
    await review(rows, ['a,not claim.* or x,,yes,,,,not SEND,,', 'b,claim.rejected,,yes,,,,not SEND,,'])
  ).promises.faults
  t.notMatch(cell, 'If you mean it', 'a promise of that type alone is to be deleted')
  const two = DEFAULT_ROWS.map((row) => row.replace('opted-out,,', 'opted-out,not claim.* or x,'))
  t.match((await review(two, ['a,not x,,yes,SMS,,,not SEND,,'])).promises.faults, [
    /write "not x or claim\.\*" as the event type/,
  ])
})

/** Promises about a situation that the shipped table keeps, and breaks. */
const KEPT = `
,found,no,SMS,,yes,SEND,,
,found,no,SMS,,yes,SEND,SMS,
,found,no,SMS,,yes,not SKIP,,
,found,no,SMS,,yes,not FAIL,,
,found,no,SMS,,yes,not by EMAIL,,
,not found,,,,,SKIP,,party not found
,unresolved,,,,,FAIL,,
,unresolved,,,,,not by SMS,,`
const BROKEN = `
,found,no,SMS,,yes,SEND,EMAIL,
,found,no,SMS,,yes,SKIP,,
,found,no,SMS,,yes,not SEND,,
,found,no,SMS,,yes,not by SMS,,
,found,no,IN_APP,,,not by IN_APP,,
,not found,,,,,SKIP,,Party not found
,not found,,,,,not SKIP,,
,not found,,,,,FAIL,,
,unresolved,,,,,not FAIL,,
,,,,,,not FAIL,,`

t.test('outcome, channel and reason decide whether a promise is kept', async (t) => {
  for (const lines of [KEPT, BROKEN])
    for (const promise of lines.trim().split('\n')) {
      const { promises } = await review(DEFAULT_ROWS, [`a,${promise}`])
      t.equal(promises.faults.length === 0, lines === KEPT, promise)
    }
})

t.test('"any other" event type is one that no rule names', async (t) => {
  const rows = above('opted-out', 'muted,claim.* or invoice.paid,found,no,,,,SKIP,,muted,Y.')
  const promise = (eventTypes: string) => [`a,${eventTypes},found,no,EMAIL,yes,,SEND,,`]
  t.strictSame((await review(rows, promise('any other'))).promises.faults, [])
  t.equal((await review(rows, promise(''))).promises.faults.length, 1)
  t.match(await review(DEFAULT_ROWS, promise('any other')), {
    promises: { faults: [], summary: '1 promise, all kept' },
  })
})

t.test('a broken promise of "any other" says which event types that is', async (t) => {
  const promise = ['a,any other,found,no,EMAIL,yes,,SKIP,,']
  t.match((await review(DEFAULT_ROWS, promise)).promises.faults, [
    /^row 2: "a" promises SKIP for every event type, as no rule names one, but it is\n/,
  ])
  const rows = above('opted-out', 'muted,claim.* or invoice.paid,found,no,,,,SKIP,,muted,Y.')
  t.match((await review(rows, promise)).promises.faults, [
    /for event types that no rule names \(these are named: invoice\.paid, claim\.\*\), but it is\n/,
  ])
})

t.test('"no template" is every event type without one, "any template" all others', async (t) => {
  const rows = above('opted-out', 'silent,no template,found,no,,,,SKIP,,no text for this type,Y.')
  const kept = await review(rows, [
    'a,no template,found,no,EMAIL,yes,,SKIP,,no text for this type',
    'b,claim.paid or policy.issued,found,no,EMAIL,yes,,SEND,,',
    'c,consent.given,found,no,EMAIL,yes,,SKIP,,',
    'd,any template,found,no,EMAIL,yes,,SEND,,',
  ])
  t.strictSame([kept.table.faults, kept.table.warnings, kept.promises.faults], [[], [], []])
  const { decide } = await createRuleTable([HEADINGS, ...rows].join('\n'), EVENT_TYPES, () => '')
  const [found] = SITUATIONS.filter(({ emailOnFile, optedOut }) => emailOnFile && !optedOut)
  for (const eventType of EVENT_TYPES)
    t.equal(decide({ eventType, ...(found as (typeof SITUATIONS)[number]) }).outcome, 'SEND', eventType)
  for (const eventType of ['consent.given', '', '__proto__', 'no template'])
    t.equal(decide({ eventType, ...(found as (typeof SITUATIONS)[number]) }).ruleId, 'silent', eventType)
  const anyOther = ['d,any other,found,no,EMAIL,yes,,SEND,,', 'e,any other,found,no,EMAIL,yes,,SKIP,,']
  t.match(
    (await review(rows, anyOther)).promises.faults,
    ['silent', 'email'].map((id) => new RegExp(`by rule "${id}" \\(row ${rowOf(id, rows)}\\)`)),
    'these name none',
  )
})

t.test('a promise that covers no situation is a fault', async (t) => {
  const { promises } = await review(DEFAULT_ROWS, ['a,,not found,,,no,,SKIP,,'])
  t.strictSame(promises.faults, [
    'row 2, column "promise": it covers no situation: no party can be like that',
  ])
})

t.test('faults of one file do not hide those of another', async (t) => {
  const both = await review(['a,,fond,,,,,SKIP,,x,Y.'], ['b,,fond,,,,,SKIP,,'])
  t.match(both, {
    table: { faults: [/^row 2, column "party": "fond"/], summary: null },
    promises: { faults: [/^row 2, column "party": "fond"/], summary: null },
  })
  const gapAndBreach = await review(
    DEFAULT_ROWS.filter((row) => !row.startsWith('unresolved,')),
    ['b,,found,,,,,SKIP,,'],
  )
  t.equal(gapAndBreach.table.faults.length, 2 * CHANNELS.length)
  t.equal(gapAndBreach.promises.faults.length, 1)
})
