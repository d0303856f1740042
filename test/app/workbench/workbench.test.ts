import { sql } from 'slonik'
import t from 'tap'
import { z } from 'zod'
import { readRuleFiles, TEMPLATE_EVENT_TYPES } from '../../../src/app/rule-files.ts'
import { createWorkbench } from '../../../src/app/workbench/workbench.ts'
import type { BacktestMessage } from '../../../src/core/workbench/backtest-report.ts'
import { openPool } from '../../../src/postgres/connection/pool.ts'
import { above, rule } from '../../core/rules/build.ts'
import { DEFAULT_OUTCOMES, DEFAULT_PROMISES, DEFAULT_TABLE } from '../../core/rules/default-table.ts'
import { record, UNRESOLVED } from '../../postgres/record.ts'
import { createMigratedDatabase } from '../../stack/databases.ts'
import { until } from '../../stack/until.ts'

const MUTED = above('opted-out', [
  rule({ rule: 'muted', eventType: 'claim.paid', party: 'found', reason: 'muted' }),
])
const forever = () => new AbortController().signal

const database = await createMigratedDatabase()
const pool = await openPool({ databaseUrl: database.url, connectionCountMax: 1 })
const ruleFiles = await readRuleFiles()
const workbenchOn = (url: string, backtestMaxMs?: number) =>
  createWorkbench(
    { database: { url }, repositoryUrl: 'https://github.com/insurer/n' },
    ruleFiles,
    backtestMaxMs,
  )
const workbench = workbenchOn(database.url)
t.teardown(async () => {
  await workbench.close()
  await pool.end()
  await database.drop()
})

async function all(messages: AsyncIterable<BacktestMessage> | null): Promise<BacktestMessage[]> {
  const heard: BacktestMessage[] = []
  for await (const message of messages ?? []) heard.push(message)
  return heard
}

t.test('the workbench starts with the files in force and the URL for proposals', async (t) => {
  t.match(await workbench.start(), {
    table: DEFAULT_TABLE,
    promises: DEFAULT_PROMISES,
    templates: TEMPLATE_EVENT_TYPES.map((eventType) => ({
      name: `${eventType}.mustache`,
      text: /^Subject: .*\{\{locator}}/s,
    })),
    outcomes: DEFAULT_OUTCOMES,
    repositoryUrl: 'https://github.com/insurer/n',
  })
  t.match((await workbench.start()).templates.at(-1), { name: 'generic.mustache' })
})

const LATELY = {
  from: new Date(Date.now() - 86_400_000).toISOString(),
  to: new Date(Date.now() + 3_600_000).toISOString(),
}

const jobOf = (table: string, period: { from: string; to: string }) => ({
  table,
  eventTypes: TEMPLATE_EVENT_TYPES,
  ...period,
})

t.test('a back-test lists the results for recorded events, with their members', async (t) => {
  await record(pool, [
    { eventId: 'paid-1' },
    { eventId: 'paid-2' },
    { eventId: 'issued', eventType: 'policy.issued' },
    { eventId: 'unknown', contact: UNRESOLVED },
  ])
  const heard = await all(workbench.backtest(jobOf(MUTED, LATELY), forever()))
  t.match(heard, [
    { kind: 'progress', events: 4 },
    {
      kind: 'report',
      report: {
        ...{
          events: 4,
          changed: 2,
          kinds: [{ kind: 'no longer sent', count: 2, eventTypes: 'claim.paid 2' }],
        },
        list: [
          {
            ...{ change: 'no longer sent', before: 'SEND by email', after: 'SKIP (muted)', createdAt: /^20/ },
            ...{ partyLocator: 'party-1', ruleBefore: 'email', ruleAfter: 'muted', locator: /^NTF-/ },
          },
          { locator: /^NTF-/ },
        ],
      },
    },
  ])
  const [from, to] = ['2026-01-01T00:00:00Z', '2026-01-02T00:00:00Z']
  for (const period of [
    { from, to },
    { from: LATELY.to, to: new Date(Date.parse(LATELY.to) + 1).toISOString() },
  ])
    t.match((await all(workbench.backtest(jobOf(MUTED, period), forever()))).at(-1), {
      report: { events: 0, list: [] },
    })
})

t.test('one back-test runs at a time, and its connection is closed with it', async (t) => {
  const connections = () =>
    pool.oneFirst(sql.type(z.object({ count: z.int() }))`
      SELECT count(*)::integer AS count FROM pg_stat_activity
      WHERE datname = current_database() AND pid <> pg_backend_pid()`)
  const gone = new AbortController()
  const first = workbench.backtest(jobOf(MUTED, LATELY), gone.signal)?.[Symbol.asyncIterator]()
  t.match(await first?.next(), { value: { kind: 'progress' } })
  t.equal(await connections(), 1)
  t.equal(workbench.backtest(jobOf(MUTED, LATELY), forever()), null)
  gone.abort()
  await t.rejects(async () => first?.next())
  await until(async () => (await connections()) === 0, { what: 'the connection to end' })
  t.match((await all(workbench.backtest(jobOf(MUTED, LATELY), forever()))).at(-1), { kind: 'report' })
})

t.test('a faulty table and an unreachable database are reported', async (t) => {
  t.match(await all(workbench.backtest(jobOf('nothing', LATELY), forever())), [
    { kind: 'faults', faults: [{ row: 1 }] },
  ])
  const down = workbenchOn('postgres://nobody@127.0.0.1:1/nothing')
  t.match(await all(down.backtest(jobOf(MUTED, LATELY), forever())), [{ kind: 'problem' }])
  await down.close()
})

t.test('a back-test that takes too long ends with a remedy, and frees its place', async (t) => {
  const limited = workbenchOn(database.url, 2_000)
  t.teardown(limited.close)
  const rules = Array.from({ length: 3_000 }, (_, i) =>
    rule({ rule: `r${i}`, eventType: `e.${i}`, party: 'found' }),
  )
  const large = above('opted-out', rules)
  t.ok(large.length < 256 * 1024)
  t.match(await all(limited.backtest(jobOf(large, LATELY), forever())), [
    { kind: 'problem', problem: /took longer than 2 s.*fewer days.*fewer event types.*`rules backtest`/ },
  ])
  const next = limited.backtest(jobOf(MUTED, LATELY), forever())
  t.not(next, null)
  // Beside other work even a small one can take longer than this limit.
  t.match((await all(next)).at(-1)?.kind, /^(report|problem)$/)
})

t.test('the workbench can be closed during a back-test', async (t) => {
  const closing = workbenchOn(database.url)
  const messages = closing.backtest(jobOf(MUTED, LATELY), forever())?.[Symbol.asyncIterator]()
  await messages?.next()
  const next = messages?.next()
  await Promise.all([t.rejects(async () => next), closing.close()])
})
