import fc from 'fast-check'
import t from 'tap'
import { CHANNELS } from '../../../src/core/channel.ts'
import { PARTY_STATES } from '../../../src/core/facts.ts'
import { createRuleTable } from '../../../src/core/rules/table.ts'

const RUN_COUNT = Number(process.env.PROPERTY_RUNS ?? 200)

/** A row as a person would write it. */
type Row = Record<
  | 'event type'
  | 'party'
  | 'opted out'
  | 'preferred channel'
  | 'email on file'
  | 'phone on file'
  | 'outcome'
  | 'send by',
  string
>

const NAMED = ['a', 'a.b', 'a.b.c', 'other', 'z.a.b', '__proto__']
const WILDCARDS = ['a.*', 'a.b.*', 'z.*']
/** All that the cells can tell apart: the named ones, some under each wildcard, and some under none. */
const EVENT_TYPES = [
  ...NAMED,
  'a.x',
  'a.other',
  'a.b.x',
  'a.b.c.d',
  'z.',
  'z.z',
  'x',
  'constructor',
  'ab',
  '',
]

const eventTypeCell = fc
  .tuple(fc.boolean(), fc.uniqueArray(fc.constantFrom(...NAMED, ...WILDCARDS), { maxLength: 3 }))
  .map(([negated, items]) => (items.length === 0 ? '' : `${negated ? 'not ' : ''}${items.join(' or ')}`))

const cell = (...values: string[]) =>
  fc.oneof({ weight: 2, arbitrary: fc.constant('') }, { weight: 1, arbitrary: fc.constantFrom(...values) })

const skipOrFail: fc.Arbitrary<Row> = fc.record({
  'event type': eventTypeCell,
  party: cell(...PARTY_STATES),
  'opted out': cell('yes', 'no'),
  'preferred channel': cell(...CHANNELS),
  'email on file': cell('yes', 'no'),
  'phone on file': cell('yes', 'no'),
  outcome: fc.constantFrom('SKIP', 'FAIL'),
  'send by': fc.constant(''),
})
const anySend: fc.Arbitrary<Row> = skipOrFail.chain((row) =>
  cell(...CHANNELS).map((channel) => ({ ...row, outcome: 'SEND', 'send by': channel })),
)
const safeSend: fc.Arbitrary<Row> = anySend.map((row) => ({
  ...row,
  party: 'found',
  'email on file': 'yes',
  'phone on file': 'yes',
}))
const catchAll: Row = {
  'event type': '',
  party: '',
  'opted out': '',
  'preferred channel': '',
  'email on file': '',
  'phone on file': '',
  outcome: 'SKIP',
  'send by': '',
}
const tables: fc.Arbitrary<Row[]> = fc
  .tuple(
    fc.array(
      fc.oneof(
        { weight: 6, arbitrary: skipOrFail },
        { weight: 6, arbitrary: safeSend },
        { weight: 1, arbitrary: anySend },
      ),
      { minLength: 1, maxLength: 7 },
    ),
    fc.integer({ min: 0, max: 9 }),
  )
  .map(([rows, dice]) => (dice === 0 ? rows : [...rows, catchAll]))

function csvOf(rows: readonly Row[]): string {
  const columns = Object.keys(catchAll) as (keyof Row)[]
  const lines = rows.map((row, index) => [
    `r${index}`,
    ...columns.map((column) => row[column]),
    row.outcome === 'SEND' ? '' : `reason ${index}`,
    'Because.',
  ])
  return [['rule', ...columns, 'reason', 'because'], ...lines].map((cells) => cells.join(',')).join('\n')
}

interface Case {
  eventType: string
  party: (typeof PARTY_STATES)[number]
  optedOut: boolean
  preferredChannel: (typeof CHANNELS)[number]
  emailOnFile: boolean | null
  phoneOnFile: boolean | null
}

function* allCases(): Generator<Case> {
  for (const eventType of EVENT_TYPES) {
    yield {
      eventType,
      party: 'missing',
      optedOut: false,
      preferredChannel: 'EMAIL',
      emailOnFile: null,
      phoneOnFile: null,
    }
    for (const optedOut of [false, true]) {
      for (const preferredChannel of CHANNELS) {
        const base = { eventType, optedOut, preferredChannel }
        yield { ...base, party: 'not found', emailOnFile: null, phoneOnFile: null }
        yield { ...base, party: 'unresolved', emailOnFile: null, phoneOnFile: null }
        for (const emailOnFile of [false, true]) {
          for (const phoneOnFile of [false, true]) yield { ...base, party: 'found', emailOnFile, phoneOnFile }
        }
      }
    }
  }
}

/** Reads the cells as a person would; shares nothing with the code under test. */
function applies(row: Row, one: Case): boolean {
  const yesNo = (text: string, fact: boolean | null) =>
    text === '' || (text === 'yes' ? fact === true : fact === false)
  const negated = row['event type'].startsWith('not ')
  const listed = row['event type']
    .replace('not ', '')
    .split(' or ')
    .some((item) =>
      item.at(-1) === '*' ? one.eventType.indexOf(item.slice(0, -1)) === 0 : item === one.eventType,
    )
  return (
    (row['event type'] === '' || (negated ? !listed : listed)) &&
    (row.party === '' || row.party === one.party) &&
    yesNo(row['opted out'], one.optedOut) &&
    (row['preferred channel'] === '' || row['preferred channel'] === one.preferredChannel) &&
    yesNo(row['email on file'], one.emailOnFile) &&
    yesNo(row['phone on file'], one.phoneOnFile)
  )
}

/** What a table says of a case: null where no row applies. */
function interpret(rows: readonly Row[], one: Case) {
  const index = rows.findIndex((row) => applies(row, one))
  const row = rows[index]
  if (row === undefined) return null
  const channel = row['send by'] === '' ? one.preferredChannel : row['send by']
  return {
    ruleId: `r${index}`,
    outcome: row.outcome,
    channel,
    reason: row.outcome === 'SEND' ? null : `reason ${index}`,
  }
}

function acceptable(said: ReturnType<typeof interpret>, one: Case): boolean {
  if (said === null) return false
  if (said.outcome !== 'SEND') return true
  if (one.party !== 'found') return false
  return { EMAIL: one.emailOnFile, SMS: one.phoneOnFile, IN_APP: true }[said.channel] === true
}

t.test(`what is served is what the rows say, for ${RUN_COUNT} random tables`, async (t) => {
  let served = 0
  let refused = 0
  await fc.assert(
    fc.asyncProperty(tables, async (rows) => {
      const expected = [...allCases()].map((one) => ({ one, said: interpret(rows, one) }))
      const created = createRuleTable(csvOf(rows), ['a', 'a.x', 'known'], () => '')
      if (!expected.every(({ one, said }) => acceptable(said, one))) {
        refused++
        await created.then(
          () => {
            throw new Error('a table with a gap or an unsafe SEND was accepted')
          },
          (error) => {
            if (error.name !== 'RuleTableError') throw error
          },
        )
        return
      }
      served++
      const table = await created
      for (const { one, said } of expected) {
        const { ruleId, outcome, channel, reason } = table.decide(one)
        const got = JSON.stringify({ ruleId, outcome, channel, reason })
        if (got !== JSON.stringify(said))
          throw new Error(`${JSON.stringify(one)}: ${got}, not ${JSON.stringify(said)}`)
      }
    }),
    { numRuns: RUN_COUNT },
  )
  t.comment(`${served} served, ${refused} refused`)
  t.ok(served > RUN_COUNT / 4, 'many tables are served')
  t.ok(refused > 0, 'some tables are refused')
})
