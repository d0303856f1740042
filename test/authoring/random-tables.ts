import {
  FACT_COLUMNS,
  FACT_LIST,
  type FactColumn,
  type Facts,
  PARTY_STATES,
  type Situation,
} from '../../src/service/decide/decision/facts.ts'
import { CHANNEL_KINDS, CHANNELS, type Channel } from '../../src/service/decide/party/channel.ts'
import fc from '../stack/properties.ts'

/** A row as a person would write it. */
export type Row = Record<
  FactColumn | 'rule' | 'event type' | 'outcome' | 'send by' | 'reason' | 'because',
  string
>

const BLANK: Row = {
  ...(Object.fromEntries(FACT_COLUMNS.map((column) => [column, ''])) as Record<FactColumn, string>),
  ...{ rule: '', 'event type': '', outcome: 'SKIP', 'send by': '', reason: '', because: 'Because.' },
}

const NAMED = ['a', 'a.b', 'a.b.c', 'other', 'z.a.b', '__proto__']
const WILDCARDS = ['a.*', 'a.b.*', 'z.*']
/** All that the cells can tell apart: the named ones, some under each wildcard, and some under none. */
// biome-ignore format: a list
const EVENT_TYPES = [...NAMED, 'a.x', 'a.other', 'a.b.x', 'a.b.c.d', 'z.', 'z.z', 'x', 'constructor', 'ab', '']

const eventTypeCell = fc
  .tuple(fc.boolean(), fc.uniqueArray(fc.constantFrom(...NAMED, ...WILDCARDS), { maxLength: 3 }))
  .map(([negated, items]) => (items.length === 0 ? '' : `${negated ? 'not ' : ''}${items.join(' or ')}`))

const cell = (...values: string[]) =>
  fc.oneof({ weight: 2, arbitrary: fc.constant('') }, { weight: 1, arbitrary: fc.constantFrom(...values) })

const written = (value: unknown) => (typeof value === 'boolean' ? (value ? 'yes' : 'no') : String(value))

const factCells = FACT_LIST.map(([, { column, values }]) => [column, cell(...values.map(written))])
const skipOrFail: fc.Arbitrary<Row> = fc
  .record({
    ...(Object.fromEntries(factCells) as Record<FactColumn, fc.Arbitrary<string>>),
    'event type': eventTypeCell,
    outcome: fc.constantFrom('SKIP', 'FAIL'),
  })
  .map((cells) => ({ ...BLANK, ...cells }))
export const anySend: fc.Arbitrary<Row> = skipOrFail.chain((row) =>
  cell(...CHANNELS).map((channel) => ({ ...row, outcome: 'SEND', 'send by': channel })),
)
const onFile = Object.fromEntries(
  FACT_COLUMNS.filter((column) => column.endsWith(' on file')).map((column) => [column, 'yes']),
)
const safeSend: fc.Arbitrary<Row> = anySend.map((row) => ({ ...row, ...onFile, party: 'found' }))
const catchAll = BLANK
/** Some mean something to an emitter of events. */
const RULE_IDS = ['error', 'success', 'failure', 'constructor', 'toString']
/** Rows with ids and reasons of their own, most of them with one at the end that leaves no gap. */
export const tables: fc.Arbitrary<Row[]> = fc
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
  .map(([rows, dice]) =>
    (dice === 0 ? rows : [...rows, catchAll]).map((row, index) => ({
      ...row,
      rule: RULE_IDS[index] ?? `r${index}`,
      reason: row.outcome === 'SEND' ? '' : `reason ${index}`,
    })),
  )

/** One situation of one event type. */
export type Case = Facts

const SITUATIONS = PARTY_STATES.flatMap((party) =>
  FACT_LIST.reduce<object[]>(
    (some, [key, { knownFor, values, whereUnknown }]) => {
      const all = key === 'party' ? [party] : knownFor.includes(party) ? values : [whereUnknown]
      return some.flatMap((one) => all.map((value) => ({ ...one, [key]: value })))
    },
    [{}],
  ),
)
export const ALL_CASES = EVENT_TYPES.flatMap((eventType) =>
  SITUATIONS.map((situation) => ({ eventType, ...situation }) as Case),
)

/** True if a case belongs to a situation, which leaves out facts that neither table tests. */
export function isIn(one: Case, situation: Situation): boolean {
  return Object.entries(situation).every(([key, value]) => one[key as keyof Case] === value)
}

/** Reads the cells as a person would; shares nothing with the code under test. */
export function applies(row: Row, one: Case): boolean {
  const negated = row['event type'].startsWith('not ')
  const listed = row['event type']
    .replace('not ', '')
    .split(' or ')
    .some((item) =>
      item.at(-1) === '*' ? one.eventType.indexOf(item.slice(0, -1)) === 0 : item === one.eventType,
    )
  return (
    (row['event type'] === '' || (negated ? !listed : listed)) &&
    FACT_LIST.every(([key, { column }]) => row[column] === '' || row[column] === written(one[key]))
  )
}

/** The table's result for a case; null if no row applies. */
export function interpret(rows: readonly Row[], one: Case) {
  const row = rows.find((candidate) => applies(candidate, one))
  const isNamed =
    one.preferredChannel === 'EMAIL' ||
    rows.some((any) => [any['send by'], any['preferred channel']].includes(one.preferredChannel))
  const isOpen = row !== undefined && row['send by'] === '' && row.outcome === 'SEND'
  const noRule = {
    ...{ ruleId: '(unknown channel)', outcome: 'FAIL', channel: one.preferredChannel },
    reason: 'no rule for this channel',
  }
  if (row === undefined) return isNamed ? null : noRule
  if (!isNamed && isOpen && !hasAddress(one.preferredChannel, one)) return noRule
  return {
    ruleId: row.rule,
    outcome: row.outcome,
    channel: row['send by'] === '' ? one.preferredChannel : row['send by'],
    reason: row.outcome === 'SEND' ? null : row.reason,
  }
}

function hasAddress(channel: string, one: Case): boolean {
  const { address } = CHANNEL_KINDS[channel as Channel]
  return one.party !== 'found' || address === null || one[`${address}OnFile`] === true
}

/** Whether no case is left undecided or sent to nobody. */
export function isSafe(rows: readonly Row[]): boolean {
  return ALL_CASES.every((one) => {
    const said = interpret(rows, one)
    if (said === null) return false
    if (said.outcome !== 'SEND') return true
    return one.party === 'found' && hasAddress(said.channel, one)
  })
}

/** The rows that decide at least one case. */
export function applying(rows: readonly Row[]): Row[] {
  const ids = new Set(ALL_CASES.map((one) => interpret(rows, one)?.ruleId))
  return rows.filter(({ rule }) => ids.has(rule))
}
