import fc from 'fast-check'
import { CHANNELS } from '../../../src/core/decision/channel.ts'
import { PARTY_STATES, type Situation } from '../../../src/core/decision/facts.ts'

// biome-ignore format: a list
const COLUMNS = ['rule', 'event type', 'party', 'opted out', 'preferred channel', 'email on file', 'phone on file', 'outcome', 'send by', 'reason'] as const
/** A row as a person would write it. */
export type Row = Record<(typeof COLUMNS)[number], string>
const BLANK = Object.fromEntries(COLUMNS.map((column) => [column, ''])) as Row

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

const skipOrFail: fc.Arbitrary<Row> = fc
  .record({
    'event type': eventTypeCell,
    party: cell(...PARTY_STATES),
    'opted out': cell('yes', 'no'),
    'preferred channel': cell(...CHANNELS),
    'email on file': cell('yes', 'no'),
    'phone on file': cell('yes', 'no'),
    outcome: fc.constantFrom('SKIP', 'FAIL'),
  })
  .map((cells) => ({ ...BLANK, ...cells }))
const anySend: fc.Arbitrary<Row> = skipOrFail.chain((row) =>
  cell(...CHANNELS).map((channel) => ({ ...row, outcome: 'SEND', 'send by': channel })),
)
const safeSend: fc.Arbitrary<Row> = anySend.map((row) => ({
  ...row,
  party: 'found',
  'email on file': 'yes',
  'phone on file': 'yes',
}))
const catchAll: Row = { ...BLANK, outcome: 'SKIP' }
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

/** The file of these rows, with this between the cells. */
export function csvOf(rows: readonly Row[], separator = ','): string {
  const lines = rows.map((row) => [...COLUMNS.map((column) => row[column]), 'Because.'])
  return [[...COLUMNS, 'because'], ...lines].map((cells) => cells.join(separator)).join('\n')
}

/** One situation of one event type. */
export type Case = {
  eventType: string
  party: (typeof PARTY_STATES)[number]
  optedOut: boolean
  preferredChannel: (typeof CHANNELS)[number]
  emailOnFile: boolean | null
  phoneOnFile: boolean | null
}

export const ALL_CASES: readonly Case[] = [...allCases()]

function* allCases(): Generator<Case> {
  const unknown = { emailOnFile: null, phoneOnFile: null }
  for (const eventType of EVENT_TYPES) {
    yield { eventType, party: 'missing', optedOut: false, preferredChannel: 'EMAIL', ...unknown }
    for (const optedOut of [false, true]) {
      for (const preferredChannel of CHANNELS) {
        const base = { eventType, optedOut, preferredChannel }
        for (const party of ['not found', 'unresolved'] as const) yield { ...base, party, ...unknown }
        for (const emailOnFile of [false, true])
          for (const phoneOnFile of [false, true]) yield { ...base, party: 'found', emailOnFile, phoneOnFile }
      }
    }
  }
}

/** True if a case belongs to a situation, which leaves out facts that neither table tests. */
export function isIn(one: Case, situation: Situation): boolean {
  return Object.entries(situation).every(([key, value]) => one[key as keyof Case] === value)
}

/** Reads the cells as a person would; shares nothing with the code under test. */
export function applies(row: Row, one: Case): boolean {
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

/** The table's result for a case; null if no row applies. */
export function interpret(rows: readonly Row[], one: Case) {
  const row = rows.find((candidate) => applies(candidate, one))
  if (row === undefined) return null
  return {
    ruleId: row.rule,
    outcome: row.outcome,
    channel: row['send by'] === '' ? one.preferredChannel : row['send by'],
    reason: row.outcome === 'SEND' ? null : row.reason,
  }
}

/** Whether no case is left undecided or sent to nobody. */
export function isSafe(rows: readonly Row[]): boolean {
  return ALL_CASES.every((one) => {
    const said = interpret(rows, one)
    if (said === null) return false
    if (said.outcome !== 'SEND') return true
    if (one.party !== 'found') return false
    return { EMAIL: one.emailOnFile, SMS: one.phoneOnFile, IN_APP: true }[said.channel] === true
  })
}

/** The rows that decide at least one case. */
export function applying(rows: readonly Row[]): Row[] {
  const ids = new Set(ALL_CASES.map((one) => interpret(rows, one)?.ruleId))
  return rows.filter(({ rule }) => ids.has(rule))
}
