// node test/stack/with-stack.ts -- node test/soak/migrations.ts
// A migration of each kind on a log of ROWS rows (1,000,000), while 500 events/s are committed and somebody reads for long:
// no commit may wait over a second. Exits 1 where one does.
import { randomUUID } from 'node:crypto'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { openPool } from '../../src/postgres/connection/pool.ts'
import { migrate } from '../../src/postgres/schema/migrate.ts'
import { loadCheckpoint } from '../../src/postgres/write/checkpoints.ts'
import { commitBatch } from '../../src/postgres/write/commit-batch.ts'
import { fillLog } from '../postgres/fill-log.ts'
import { aBatch, anEntry, recordingSend } from '../postgres/fixtures.ts'
import { createMigratedDatabase } from '../stack/databases.ts'
import { numberFrom, result, say } from './report.ts'
import { SAMPLE_MIGRATIONS } from './sample-migrations.ts'

const BATCH_COUNT = 50
const BATCH_EVERY_MS = 100
const READ_MS = 5_000
const WAIT_MAX_MS = 1_000

const LOG = 'notifications.notification_log'

/** In milliseconds, of the commits since it was set to 0. */
let longest = 0

const database = await createMigratedDatabase()
const client = new pg.Client(database.url)
await client.connect()
const dir = await mkdtemp(join(tmpdir(), 'notifications-migrations-'))
try {
  await fillLog(client, numberFrom('ROWS', 1_000_000))
  say('the log is filled')
  const writing = new AbortController()
  const written = write(writing.signal)
  // One after the other, each beside a read of its own.
  const waits: Record<string, number> = {}
  for (const [name, source] of Object.entries(SAMPLE_MIGRATIONS)) {
    await writeFile(join(dir, `${name}.sql`), source)
    longest = 0
    const sinceMs = performance.now()
    const read = readForLong()
    await migrate(database.url, { info: () => {} }, dir)
    waits[name] = longest
    say(
      `${name}: ${Math.round(performance.now() - sinceMs)} ms; the longest commit took ${Math.round(longest)} ms`,
    )
    await read
  }
  writing.abort()
  say(`${await written} events were committed`)
  result(
    Object.fromEntries(
      Object.entries(waits).map(([name, ms]) => [
        `${name}: no commit waits over ${WAIT_MAX_MS} ms`,
        ms <= WAIT_MAX_MS,
      ]),
    ),
  )
} finally {
  await rm(dir, { recursive: true })
  await client.end()
  await database.drop()
}

/** Commits batches at a steady rate; resolves to the number of events. */
async function write(signal: AbortSignal): Promise<number> {
  const pool = await openPool({ databaseUrl: database.url, connectionCountMax: 2 })
  let { offset } = await loadCheckpoint(pool, 'claims', 0)
  const first = offset
  let dueMs = performance.now()
  while (!signal.aborted) {
    const entries = Array.from({ length: BATCH_COUNT }, () => anEntry(randomUUID()))
    const nextOffset: bigint = offset + BigInt(BATCH_COUNT)
    const sinceMs = performance.now()
    await commitBatch(pool, aBatch(entries, { heldOffset: offset, nextOffset }), recordingSend().send)
    longest = Math.max(longest, performance.now() - sinceMs)
    offset = nextOffset
    dueMs += BATCH_EVERY_MS
    await sleep(Math.max(0, dueMs - performance.now()))
  }
  await pool.end()
  return Number(offset - first)
}

async function readForLong(): Promise<void> {
  await client.query('BEGIN')
  await client.query(`SELECT count(*) FROM ${LOG}`)
  await client.query(`SELECT pg_sleep(${READ_MS / 1_000})`)
  await client.query('COMMIT')
}
