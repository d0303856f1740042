import t from 'tap'
import { checkRuleFiles } from '../../../src/authoring/check/check-files.ts'
import { compileRuleTable } from '../../../src/authoring/check/compile-table.ts'
import { loadRuleTable } from '../../../src/service/decide/rules/load-table.ts'
import { inWords } from '../../service/build.ts'
import fc from '../../stack/properties.ts'
import { above, promise, promises as promisesText, type Row, rule, table as tableText } from '../build.ts'
import {
  DEFAULT_PROMISES,
  DEFAULT_TABLE,
  describeThose,
  findRow,
  PROMISE_COUNT,
  SITUATIONS,
  without,
} from '../default-table.ts'
import { anySend } from '../random-tables.ts'
import { EVENT_TYPES } from '../templates/specified-event-types.ts'

async function review(csvText: string, ...asked: Row[]) {
  const asText = asked.length === 0 ? DEFAULT_PROMISES : promisesText(...asked)
  const { table, promises } = await checkRuleFiles(csvText, asText, EVENT_TYPES)
  return { table: inWords(table), promises: inWords(promises) }
}

t.test('the default table keeps the default promises', async (t) => {
  const { table, promises } = await review(DEFAULT_TABLE)
  const none = { faults: [], warnings: [] }
  t.strictSame(table, {
    ...none,
    summary: `${loadRuleTable(DEFAULT_TABLE).length} rules for the ${SITUATIONS.length} situations of any event type`,
  })
  t.strictSame(promises, { ...none, summary: `${PROMISE_COUNT} promises, all kept` })
})

t.test('a fault has its place as data, and that of a broken promise the cell that mends it', async (t) => {
  const heeded = DEFAULT_TABLE.replace('opted-out,,', 'opted-out,not claim.paid or x,')
  const asked = [
    promise({ eventType: 'not x', optedOut: true }),
    promise({ promise: 'b', party: 'missing', emailOnFile: true, outcome: 'FAIL' }),
  ]
  const found = await checkRuleFiles(heeded, promisesText(...asked), EVENT_TYPES)
  t.match(found.promises.faults, [
    { row: 2, column: null, exclude: { eventTypes: ['claim.paid'], cell: 'not x or claim.paid' } },
    { row: 3, column: 'promise', exclude: undefined },
  ])
  const unnamed = promisesText(promise({ party: 'missing', outcome: 'FAIL' }))
  const [broken] = (await checkRuleFiles(heeded, unnamed, EVENT_TYPES)).promises.faults
  t.match(broken, { row: 2, exclude: undefined }, 'types without names cannot be left out')
  const gap = await checkRuleFiles(without('sms'), unnamed, EVENT_TYPES)
  t.match(gap.table.faults[0], { row: null, column: null, text: /^no rule covers/ })
  const { table } = await checkRuleFiles(without('in-app'), DEFAULT_PROMISES, EVENT_TYPES)
  t.match(table, { faults: [], warnings: [{ row: null, text: /^no rule names the channel IN_APP/ }] })
})

t.test('a table without the column of the opt-out breaks the promise about it', async (t) => {
  const table =
    'rule,event type,party,outcome,send by,reason,because\na,,found,SEND,IN_APP,,Y.\nb,,,SKIP,,x,Y.'
  const { promises } = await checkRuleFiles(table, DEFAULT_PROMISES, EVENT_TYPES)
  t.match(promises.faults, [{ row: 2, text: /opted out .* promises that nothing is sent/ }])
})

t.test('a broken promise counts its situations, and names the rule that breaks it', async (t) => {
  const optedOut = { optedOut: true, preferredChannel: 'SMS' } as const
  const rows = DEFAULT_TABLE.replace('opted-out,,', 'opted-out,not claim.rejected,')
  const { promises } = await review(
    rows,
    promise({ promise: 'Opted out is opted out', ...optedOut }),
    promise({ promise: 'Fine', party: 'missing', outcome: 'SKIP' }),
  )
  const sent = describeThose({ ...optedOut, party: 'found', phoneOnFile: true })
  t.strictSame(promises.faults, [
    `row 2: "Opted out is opted out" promises that nothing is sent, but it is
  sent by text message by rule "sms" (row ${findRow('sms')}): ${sent.length} situations (claim.rejected), such as ${sent[0]}\n` +
      '  If you mean it, write "not claim.rejected" as the event type of the promise',
  ])
  const { faults } = (await review(rows, promise({ eventType: 'claim.rejected', optedOut: true }))).promises
  t.match(faults, [/but it is/])
  t.notMatch(faults, [/If you mean it/], 'a promise of that type alone is to be deleted')
  const two = DEFAULT_TABLE.replace('opted-out,,', 'opted-out,not claim.* or x,')
  t.match((await review(two, promise({ eventType: 'not x', ...optedOut }))).promises.faults, [
    /write "not x or claim\.\*" as the event type/,
  ])
})

t.test('outcome, channel and reason decide whether a promise is kept', async (t) => {
  const bySms = { party: 'found', optedOut: false, preferredChannel: 'SMS', phoneOnFile: true }
  const notFound = { party: 'not found' }
  const kept: readonly Row[] = [
    promise({ ...bySms, outcome: 'SEND' }),
    promise({ ...bySms, outcome: 'SEND', sendBy: 'SMS' }),
    ...['not SKIP', 'not FAIL', 'not by EMAIL'].map((outcome) => promise({ ...bySms, outcome })),
    promise({ ...notFound, outcome: 'SKIP', reason: 'party not found' }),
    ...['FAIL', 'not by SMS'].map((outcome) => promise({ party: 'unresolved', outcome })),
  ]
  const broken: readonly Row[] = [
    promise({ ...bySms, outcome: 'SEND', sendBy: 'EMAIL' }),
    ...['SKIP', 'not SEND', 'not by SMS'].map((outcome) => promise({ ...bySms, outcome })),
    promise({ party: 'found', optedOut: false, preferredChannel: 'IN_APP', outcome: 'not by IN_APP' }),
    promise({ ...notFound, outcome: 'SKIP', reason: 'Party not found' }),
    ...['not SKIP', 'FAIL'].map((outcome) => promise({ ...notFound, outcome })),
    promise({ party: 'unresolved', outcome: 'not FAIL' }),
    promise({ outcome: 'not FAIL' }),
  ]
  for (const rows of [kept, broken])
    for (const row of rows) {
      const { promises } = await review(DEFAULT_TABLE, row)
      t.equal(promises.faults.length === 0, rows === kept, JSON.stringify(row))
    }
})

const BY_EMAIL = { party: 'found', optedOut: false, preferredChannel: 'EMAIL', emailOnFile: true } as const
const MUTED = above('opted-out', [
  rule({ eventType: 'claim.* or invoice.paid', party: 'found', optedOut: false }),
])

t.test('"any other" event type is one that no rule names', async (t) => {
  const sent = (eventType: string) => promise({ eventType, ...BY_EMAIL, outcome: 'SEND' })
  t.strictSame((await review(MUTED, sent('any other'))).promises.faults, [])
  t.equal((await review(MUTED, sent(''))).promises.faults.length, 1)
  t.match(await review(DEFAULT_TABLE, sent('any other')), {
    promises: { faults: [], summary: '1 promise, all kept' },
  })
})

t.test('a broken promise of "any other" says which event types that is', async (t) => {
  const skipped = promise({ eventType: 'any other', ...BY_EMAIL, outcome: 'SKIP' })
  t.match((await review(DEFAULT_TABLE, skipped)).promises.faults, [
    /^row 2: "a" promises SKIP for every event type, as no rule names one, but it is\n/,
  ])
  t.match((await review(MUTED, skipped)).promises.faults, [
    /for event types that no rule names \(these are named: invoice\.paid, claim\.\*\), but it is\n/,
  ])
})

t.test('"no template" is every event type without one, "any template" all others', async (t) => {
  const silent = rule({ rule: 'silent', eventType: 'no template', party: 'found', optedOut: false })
  const csvText = above('opted-out', [silent])
  const kept = await review(
    csvText,
    promise({ promise: 'a', eventType: 'no template', ...BY_EMAIL, outcome: 'SKIP', reason: 'x' }),
    promise({ promise: 'b', eventType: 'claim.paid or policy.issued', ...BY_EMAIL, outcome: 'SEND' }),
    promise({ promise: 'c', eventType: 'consent.given', ...BY_EMAIL, outcome: 'SKIP' }),
    promise({ promise: 'd', eventType: 'any template', ...BY_EMAIL, outcome: 'SEND' }),
  )
  t.strictSame([kept.table.faults, kept.table.warnings, kept.promises.faults], [[], [], []])
  const { decide } = await compileRuleTable(csvText, { eventTypes: EVENT_TYPES })
  for (const eventType of EVENT_TYPES) t.equal(decide({ eventType, ...BY_EMAIL }).outcome, 'SEND', eventType)
  for (const eventType of ['consent.given', '', '__proto__', 'no template'])
    t.equal(decide({ eventType, ...BY_EMAIL }).ruleId, 'silent', eventType)
  const anyOther = { eventType: 'any other', ...BY_EMAIL }
  t.match(
    (
      await review(
        csvText,
        promise({ promise: 'd', ...anyOther, outcome: 'SEND' }),
        promise({ promise: 'e', ...anyOther, outcome: 'SKIP' }),
      )
    ).promises.faults,
    ['silent', 'email'].map((id) => new RegExp(`by rule "${id}" \\(row ${findRow(id, csvText)}\\)`)),
    'these name none',
  )
})

t.test('a promise that covers no situation is a fault', async (t) => {
  const { promises } = await review(
    DEFAULT_TABLE,
    promise({ party: 'not found', emailOnFile: false, outcome: 'SKIP' }),
  )
  t.strictSame(promises.faults, [
    'row 2, column "promise": it covers no situation: no party can be like that',
  ])
})

t.test(
  'a broken promise of many event types names some of them, and the row to move the rule to',
  async (t) => {
    const eventType = Array.from({ length: 20 }, (_, at) => `x.${at}`).join(' or ')
    const rows = above('opted-out', [rule({ eventType, party: 'found', outcome: 'SEND', sendBy: 'IN_APP' })])
    t.match((await review(rows, promise({ optedOut: true }))).promises.faults, [
      /x\.0, x\.1.* and 12 more\), such as party found, opted out.*: move rule "a" below row 6 \("opted-out"\)\n/,
    ])
  },
)

t.test(
  'one change mends all that a careless rule breaks, and the advice is the same everywhere',
  async (t) => {
    const rowCount = loadRuleTable(DEFAULT_TABLE).length
    const eventType = fc.constantFrom('', 'claim.paid', 'claim.*', 'not claim.paid')
    let mendedCount = 0
    await fc.assert(
      fc.asyncProperty(anySend, eventType, fc.nat(rowCount), async (send, type, place) => {
        const careless = { ...send, rule: 'careless', 'event type': type }
        const [headings = '', ...lines] = above(null, [careless]).trimEnd().split('\n')
        const last = lines.pop() ?? ''
        const at = (row: string, index: number) => [headings, ...lines.toSpliced(index, 0, row)].join('\n')
        const advised = adviceIn(await review(at(last, place)))
        if (advised.length === 0) return
        if (advised.length > 1) throw new Error(`advice that differs: ${advised.join(' / ')}`)
        mendedCount++
        const [advice = ''] = advised
        const cells = [...advice.matchAll(/"([^"]+)" as its ([\w ]+?)(?=,|$)/g)].map(([, value, column]) => [
          column,
          value,
        ])
        const mended =
          above(null, [{ ...careless, ...Object.fromEntries(cells) }])
            .trimEnd()
            .split('\n')
            .at(-1) ?? ''
        const [, below] = /below row (\d+)/.exec(advice) ?? []
        const found = await review(at(mended, below === undefined ? place : Number(below) - FIRST_ROW))
        const left = [...found.table.faults, ...found.promises.faults]
        if (left.length > 0) throw new Error(`after "${advice}": ${left.join('\n')}`)
      }),
      { numRuns: 60 },
    )
    t.ok(mendedCount > 10, `${mendedCount} were mended`)
  },
)

/** The first row of a table below its headings. */
const FIRST_ROW = 2

/** The different pieces of advice about the careless rule. */
function adviceIn({ table, promises }: Awaited<ReturnType<typeof review>>): readonly string[] {
  const lines = [...table.faults, ...promises.faults].flatMap((fault) => fault.split('\n'))
  return [
    ...new Set(lines.flatMap((line) => /: ((?:write|move rule "careless" below) .*)$/.exec(line)?.[1] ?? [])),
  ]
}

t.test('faults of one file do not hide those of another', async (t) => {
  const both = await review(tableText(rule({ party: 'fond' })), promise({ party: 'fond' }))
  t.match(both, {
    table: { faults: [/^row 2, column "party": "fond"/], summary: null },
    promises: { faults: [/^row 2, column "party": "fond"/], summary: null },
  })
  const gapAndBreach = await review(without('unresolved'), promise({ party: 'found', outcome: 'SKIP' }))
  t.match(gapAndBreach.table.faults, [
    /^no rule covers: \d+ situations \(every event type\), such as party unresolved/,
  ])
  t.equal(gapAndBreach.promises.faults.length, 1)
})

t.test('an unfinished rule does not hide that no text knows an event type', async (t) => {
  const unfinished = above('opted-out', [rule({ eventType: 'invoice', outcome: '' })])
  const { table } = await checkRuleFiles(unfinished, DEFAULT_PROMISES, EVENT_TYPES, { seenEventTypes: [] })
  t.match(table.warnings, [{ column: 'event type', text: /^there is no template for "invoice"/ }])
})

t.test(
  'a rule that rows above leave nothing is moved to where it decides all that it describes',
  async (t) => {
    const last = rule({ rule: 'muted', eventType: 'invoice.paid', party: 'found', reason: 'muted' })
    const hidden = await checkRuleFiles(above(null, [last]), DEFAULT_PROMISES, EVENT_TYPES)
    const fault = hidden.table.faults.find(({ text }) => text.startsWith('rule "muted" can never apply'))
    t.match(
      fault?.text,
      /move it above row \d+ \("opted-out"\) for all it describes \(\d+ cases\), or above row /,
    )
    const place = /\("(.*?)"\) for all /.exec(fault?.text ?? '')?.[1] ?? ''
    const moved = await checkRuleFiles(above(place, [last]), DEFAULT_PROMISES, EVENT_TYPES)
    t.strictSame(moved.table.faults, [])
  },
)

t.test('a new rule that rows above leave a part says how much it decides', async (t) => {
  const rules = loadRuleTable(DEFAULT_TABLE, EVENT_TYPES)
  const muted = rule({ rule: 'muted', eventType: 'invoice.paid', party: 'found', reason: 'muted' })
  const short = await checkRuleFiles(above('sms', [muted]), DEFAULT_PROMISES, EVENT_TYPES, { rules })
  t.match(short.table.warnings, [
    {
      text: /^rule "muted" decides \d+ of the \d+ cases that its cells describe; rows above take the others: "/,
    },
  ])
  const whole = await checkRuleFiles(above('opted-out', [muted]), DEFAULT_PROMISES, EVENT_TYPES, { rules })
  t.strictSame(whole.table.warnings, [])
})

t.test(
  'no rule is blamed for cases that it may not decide, or that make no difference to members',
  async (t) => {
    const rules = loadRuleTable(DEFAULT_TABLE, EVENT_TYPES)
    const warningsOf = async (text: string) =>
      (await checkRuleFiles(text, DEFAULT_PROMISES, EVENT_TYPES, { rules })).table.warnings
    const send = rule({
      rule: 'grave',
      eventType: 'claim.rejected',
      party: 'found',
      emailOnFile: true,
      outcome: 'SEND',
      sendBy: 'EMAIL',
    })
    t.strictSame(await warningsOf(above('no-email', [send])), [], 'a promise keeps it below "opted-out"')
    const muted = rule({ rule: 'muted', eventType: 'invoice.paid', party: 'found', reason: 'muted' })
    t.strictSame(await warningsOf(above('email', [muted])), [], 'those above tell nobody, either')
    t.strictSame(
      await warningsOf(DEFAULT_TABLE.replace('\nin-app,', '\napp,')),
      [],
      'a new name is no new rule',
    )
  },
)
