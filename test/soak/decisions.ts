import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { setInterval } from 'node:timers/promises'
import pg from 'pg'
import t from 'tap'
import { templates } from '../../src/generated/templates.ts'
import { openPool } from '../../src/postgres/connection/pool.ts'
import { archiveRevisions } from '../../src/postgres/write/archive-revisions.ts'
import { DEFAULT_TABLE, ruleTable } from '../postgres/record.ts'
import { createMigratedDatabase } from '../stack/databases.ts'
import { MAIN } from '../stack/executable.ts'
import { startService } from '../stack/service.ts'
import { fillDecisions, retriedOfEachType, sentOfEachType } from './fill-decisions.ts'

/** A candidate that mutes one of the types. */
const MUTED = DEFAULT_TABLE.replace(
  /^opted-out/m,
  'muted,claim.paid,found,no,,,,SKIP,,muted,No more.\nopted-out',
)
const COUNT = Number(process.env.DECISIONS ?? 1_000_000)

t.setTimeout(0)
const database = await createMigratedDatabase()
const folder = await mkdtemp(join(tmpdir(), 'soak-'))
t.teardown(async () => {
  await rm(folder, { recursive: true })
  await database.drop()
})
t.before(async () => {
  const table = await ruleTable()
  const pool = await openPool({ databaseUrl: database.url, connectionCountMax: 1 })
  await archiveRevisions(pool, table, [...templates.byEventType.values(), templates.generic])
  await pool.end()
  const client = new pg.Client(database.url)
  await client.connect()
  await fillDecisions(client, COUNT, table)
  await client.end()
})

/** Runs a command to its end; says what it wrote, how long it took, and its resident memory now and then. */
async function run(...args: string[]) {
  const startedMs = performance.now()
  const child = spawn(process.execPath, [MAIN, ...args], {
    env: { PATH: process.env.PATH, DATABASE_URL: database.url },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const stopped = new AbortController()
  const residentMb: number[] = []
  const sampling = (async () => {
    for await (const _ of setInterval(250, null, { signal: stopped.signal })) {
      const status = await readFile(`/proc/${child.pid}/status`, 'utf8').catch(() => '')
      const kb = /^VmRSS:\s*(\d+) kB$/m.exec(status)?.[1]
      if (kb !== undefined) residentMb.push(Math.round(Number(kb) / 1024))
    }
  })().catch(() => {})
  const [[code], stdout] = await Promise.all([once(child, 'close'), text(child.stdout)])
  stopped.abort()
  await sampling
  return { code, stdout, seconds: (performance.now() - startedMs) / 1_000, residentMb }
}

t.test(`${COUNT} events are back-tested in 20 s or less`, async (t) => {
  const table = join(folder, 'candidate.csv')
  await writeFile(table, MUTED)
  const { code, stdout, seconds } = await run(
    'rules',
    'backtest',
    '--table',
    table,
    '--since',
    '30d',
    '--json',
  )
  t.comment(`back-tested in ${seconds.toFixed(1)} s`)
  t.equal(code, 0)
  t.match(JSON.parse(stdout), { events: COUNT, changed: sentOfEachType(COUNT) + retriedOfEachType(COUNT) })
  t.ok(seconds <= 20, `${seconds} s`)
})

t.test(`${COUNT} events are back-tested in the workbench in 10 s or less`, async (t) => {
  const service = await startService({
    DATABASE_URL: database.url,
    MQ_BROKERS: process.env.MQ_BROKERS ?? '',
    MQ_TOPICS: 'nothing-is-published-here',
    POLICY_ADMIN_URL: 'http://127.0.0.1:1',
    MANAGEMENT_PORT: '0',
  })
  t.teardown(() => service.stop())
  const { url } = await service.logged(/^the management listener is up$/)
  const startedMs = performance.now()
  const response = await fetch(`${url}/console/data/workbench/backtest`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ table: MUTED, days: 30 }),
  })
  const lines = (await response.text()).trim().split('\n')
  const seconds = (performance.now() - startedMs) / 1_000
  const status = await readFile(`/proc/${service.pid}/status`, 'utf8')
  const peakMb = Math.round(Number(/^VmHWM:\s*(\d+) kB$/m.exec(status)?.[1]) / 1024)
  t.comment(`back-tested in ${seconds.toFixed(1)} s, ${peakMb} MB at most`)
  t.match(JSON.parse(lines.at(-1) ?? ''), {
    kind: 'report',
    report: { events: COUNT, changed: sentOfEachType(COUNT) + retriedOfEachType(COUNT) },
  })
  t.ok(seconds <= 10, `${seconds} s`)
})

t.test(`${COUNT} events are verified in 180 s or less, with memory flat`, async (t) => {
  const { code, stdout, seconds, residentMb } = await run('replay', '--verify')
  const tenth = Math.ceil(residentMb.length / 10)
  const early = Math.max(...residentMb.slice(tenth, 2 * tenth))
  const late = Math.max(...residentMb.slice(-tenth))
  t.comment(`verified in ${seconds.toFixed(1)} s, ${early} MB after a tenth, ${late} MB at the end`)
  t.same({ code, stdout }, { code: 0, stdout: `${COUNT} entries compared: no difference\n` })
  t.ok(seconds <= 180, `${seconds} s`)
  t.ok(late <= 1.3 * early, `${early} MB, then ${late} MB`)
})
