import { sql } from 'slonik'
import t from 'tap'
import { openPool } from '../../../src/postgres/connection/pool.ts'
import { readUntil } from '../../../src/postgres/connection/read-until.ts'
import { until } from '../../stack/until.ts'
import { openDatabase } from '../fixtures.ts'

const { url, client } = await openDatabase(t)
const pool = await openPool({ databaseUrl: url, connectionCountMax: 1, endWithClient: true })
t.teardown(() => pool.end())

const SLOW = sql.unsafe`SELECT pg_sleep(600)`
const isRunning = async () => {
  const { rows } = await client.query(
    `SELECT FROM pg_stat_activity WHERE state = 'active' AND query = 'SELECT pg_sleep(600)'`,
  )
  return rows.length > 0
}

t.test('a running query ends with its reader, and the pool stays usable', async (t) => {
  const reader = new AbortController()
  const reading = readUntil(reader.signal, pool, (connection) => connection.any(SLOW))
  await until(isRunning, { what: 'the query to run' })
  reader.abort(new Error('the client is gone'))
  await t.rejects(reading, /the client is gone/)
  await until(async () => !(await isRunning()), { what: 'the query to end' })
  t.equal(
    await pool.oneFirst(sql.unsafe`SHOW client_connection_check_interval`),
    '1s',
    'it need not wait for the statement time-out',
  )
  const alive = new AbortController().signal
  t.equal(await readUntil(alive, pool, (connection) => connection.oneFirst(sql.unsafe`SELECT 1`)), 1)
})

t.test('a queued read never starts once its reader has disconnected', async (t) => {
  const reader = new AbortController()
  const holding = Promise.withResolvers<void>()
  const held = pool.connect(() => holding.promise)
  const reading = readUntil(reader.signal, pool, async () => t.fail('it began'))
  reader.abort(new Error('the client is gone'))
  holding.resolve()
  await held
  await t.rejects(reading, /the client is gone/)
})
