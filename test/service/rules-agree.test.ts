import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { describeResult } from '../../src/core/decision/decide.ts'
import type { Situation } from '../../src/core/decision/facts.ts'
import type { Contact } from '../../src/core/party/contact.ts'
import type { BacktestResult } from '../../src/core/rules/backtest.ts'
import { enumerate } from '../../src/core/rules/enumerate-situations.ts'
import { listOutcomes } from '../../src/core/rules/outcomes.ts'
import { describeSituation } from '../../src/core/rules/situations.ts'
import { openPool } from '../../src/postgres/connection/pool.ts'
import { aFound } from '../core/build.ts'
import { above, DEFAULT_ROWS, HEADINGS, SITUATIONS, tableOf } from '../core/rules/default-table.ts'
import { type Known, record, ruleTable, UNRESOLVED } from '../postgres/record.ts'
import { createMigratedDatabase } from '../stack/databases.ts'
import { command } from './command.ts'

const EVENT_TYPES = ['claim.rejected', 'invoice.paid']
/** How many events of each type are recorded in each situation, by both in words. */
const RECORDED: ReadonlyMap<string, number> = new Map(
  EVENT_TYPES.flatMap((eventType, type) =>
    SITUATIONS.map(
      (situation, index) =>
        [`${eventType}, ${describeSituation(situation)}`, type + 1 + (index % 5)] as const,
    ),
  ),
)
const sum = (counts: readonly number[]) => counts.reduce((total, count) => total + count, 0)

const database = await createMigratedDatabase()
const folder = await mkdtemp(join(tmpdir(), 'agree-'))
t.teardown(async () => {
  await rm(folder, { recursive: true })
  await database.drop()
})
const run = (...args: string[]) => command(['rules', ...args], { DATABASE_URL: database.url })

async function write(name: string, rows: readonly string[]): Promise<string> {
  const file = join(folder, name)
  await writeFile(file, [HEADINGS, ...rows, ''].join('\n'))
  return file
}

/** What must be known of an event for it to be in a situation. */
function knownOf(eventType: string, situation: Situation): Omit<Known, 'eventId'> {
  if (situation.party === 'missing') return { eventType, partyLocator: null }
  const { preferredChannel, optedOut } = situation
  const preferences = {
    preferredChannel,
    optedOutEvents: new Set(optedOut ? [eventType] : []),
    changeId: null,
  }
  return { eventType, contact: contactOf(situation), preferences }
}
function contactOf({ party, emailOnFile, phoneOnFile }: Situation): Contact {
  if (party === 'unresolved') return UNRESOLVED
  if (party !== 'found') return { state: 'not found' }
  return aFound({ email: emailOnFile ? 'member@example.com' : null, phone: phoneOnFile ? '+1' : null })
}

t.before(async () => {
  const pool = await openPool({ databaseUrl: database.url, connectionCountMax: 1 })
  const table = await ruleTable([HEADINGS, ...DEFAULT_ROWS, ''].join('\n'))
  const events = EVENT_TYPES.flatMap((eventType) =>
    SITUATIONS.flatMap((situation) => {
      const name = `${eventType}, ${describeSituation(situation)}`
      const known = knownOf(eventType, situation)
      return Array.from({ length: RECORDED.get(name) ?? 0 }, (_, n) => ({
        ...known,
        eventId: `${name} ${n}`,
      }))
    }),
  )
  await record(pool, events, table)
  await pool.end()
})

/** The change of one situation of one event type, in words that all three can be brought into. */
function change(eventType: string, situation: string, before: string, after: string): string {
  return `${eventType}, ${situation}: ${before}, now ${after}`
}

/** From the sentences of `rules diff` that tell of situations, and those situations. */
function changesOfDiff(stdout: string): { readonly summary: string; readonly changes: readonly string[] } {
  const [summary = '', ...lines] = stdout.trimEnd().split('\n')
  let sentence: readonly string[] = []
  const changes = lines.flatMap((line) => {
    const begins = /^\d+ situations? changes? from (.*) to (.*) for (.*) \(rule .*\):$/.exec(line)
    if (begins !== null) sentence = begins.slice(1)
    if (!line.startsWith('    ')) return []
    const [before = '', after = '', types = ''] = sentence
    const named = types === 'every event type' ? EVENT_TYPES : types.split(', ')
    return named.map((eventType) => change(eventType, line.trim(), before, after))
  })
  return { summary, changes: changes.sort() }
}

async function outcomesOf(rows: readonly string[]): Promise<string> {
  return listOutcomes(await enumerate((await tableOf(rows)).rules, EVENT_TYPES), EVENT_TYPES)
}

/** What outcomes say of each situation of one event type: the lines of its own, else those of any other type. */
function resultsOfOutcomes(outcomes: string, eventType: string): ReadonlyMap<string, string> {
  const results = new Map<string, string>()
  let concerns = true
  for (const line of outcomes.split('\n')) {
    const [, situation, result] = /^ {2}(.*?): (.*), rule "/.exec(line) ?? []
    if (situation === undefined || result === undefined) {
      concerns = line === 'any other event type' || line === eventType
    } else if (concerns) results.set(situation, result)
  }
  return results
}

/** What `make rules-accept` would show as changed. */
async function changesOfOutcomes(before: readonly string[], after: readonly string[]): Promise<string[]> {
  const [outcomesBefore, outcomesAfter] = [await outcomesOf(before), await outcomesOf(after)]
  return EVENT_TYPES.flatMap((eventType) => {
    const resultsAfter = resultsOfOutcomes(outcomesAfter, eventType)
    return [...resultsOfOutcomes(outcomesBefore, eventType)].flatMap(([situation, result]) => {
      const now = resultsAfter.get(situation) ?? 'nothing'
      return now === result ? [] : [change(eventType, situation, result, now)]
    })
  }).sort()
}

/** With the number of events of each. */
function changesOfBacktest({ changes }: BacktestResult): (readonly [string, number])[] {
  return changes
    .map(({ eventType, facts, before, after, count }) => {
      const situation = describeSituation(facts)
      return [change(eventType, situation, describeResult(before), describeResult(after)), count] as const
    })
    .sort(([one], [other]) => (one < other ? -1 : 1))
}

const inRow = (id: string, from: string, to: string) =>
  DEFAULT_ROWS.map((row) => (row.startsWith(`${id},`) ? row.replace(from, to) : row))

const CANDIDATES = {
  'a SKIP becomes a SEND': [
    '12 situations change: 0 no longer sent, 12 newly sent',
    inRow('opted-out', ',SKIP,,event type opted out,', ',SEND,IN_APP,,'),
  ],
  'a FAIL becomes a SKIP': [
    '6 situations change: 0 no longer sent, 0 newly sent, 6 skipped or retried otherwise',
    inRow('unresolved', ',FAIL,', ',SKIP,'),
  ],
  'one type is muted': [
    '4 situations change: 2 no longer sent, 0 newly sent, 2 with another reason only',
    above('opted-out', 'muted,invoice.paid,found,no,SMS,,,SKIP,,muted,We are silent.'),
  ],
} as const

for (const [title, [summaryExpected, rows]] of Object.entries(CANDIDATES)) {
  t.test(`diff, outcomes and back-test agree on situations and events: ${title}`, async (t) => {
    const [table, before] = [await write('after.csv', rows), await write('before.csv', DEFAULT_ROWS)]
    const [diff, backtest] = await Promise.all([
      run('diff', '--against', before, '--table', table),
      run('backtest', '--table', table, '--since', '1h', '--json'),
    ])
    t.match([diff, backtest], [{ code: 0 }, { code: 0 }])
    const { summary, changes } = changesOfDiff(diff.stdout)
    t.equal(summary, summaryExpected)
    t.same(await changesOfOutcomes(DEFAULT_ROWS, rows), changes)

    const result: BacktestResult = JSON.parse(backtest.stdout)
    const expected = changes.map(
      (text) => [text, RECORDED.get(text.split(': ')[0] as string) as number] as const,
    )
    t.same(changesOfBacktest(result), expected)
    t.match(result, { events: sum([...RECORDED.values()]), changed: sum(expected.map(([, count]) => count)) })
  })
}

t.test(
  'a back-test begins with what it means for members, and counts by first decisions where asked',
  async (t) => {
    const [, rows] = CANDIDATES['one type is muted']
    const table = await write('told.csv', rows)
    const [last, first] = await Promise.all([
      run('backtest', '--table', table),
      run('backtest', '--table', table, '--first', '--since', '1h'),
    ])
    t.match(last.stdout, /^In the last 30 days, since .*\n\d+ events: .*\n\d+ messages fewer by SMS\n/)
    t.match(first.stdout, /^Since .*\n\d+ events: /)
  },
)
