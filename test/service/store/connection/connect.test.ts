import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { createPool, sql } from 'slonik'
import t from 'tap'
import { z } from 'zod'
import { describeServer } from '../../../../src/operations/doctor/describe-server.ts'
import { boundedPool } from '../../../../src/service/store/connection/bounded-pool.ts'
import { createDriver } from '../../../../src/service/store/connection/driver.ts'
import { isUnreachable } from '../../../../src/service/store/connection/errors.ts'
import {
  APPLICATION_NAME,
  OPTIONAL_SETTINGS,
  openPool,
  SETTINGS,
} from '../../../../src/service/store/connection/pool.ts'
import { readUntil } from '../../../../src/service/store/connection/read-until.ts'
import { startDatabaseProxy } from '../../../stack/database-proxy.ts'
import { createDatabase } from '../../../stack/databases.ts'
import { startPostgres } from '../../../stack/postgres.ts'
import { until } from '../../../stack/until.ts'
import { openDatabase } from '../fixtures.ts'

const { url, client } = await openDatabase(t)
// Another server, on which what belongs to a whole server can be changed.
const other = await startPostgres()
t.teardown(() => other.close())
const admin = new pg.Client(other.url)
await admin.connect()
t.teardown(() => admin.end())

const pool = await openPool({ databaseUrl: url, connectionCountMax: 1, endWithClient: true })
t.teardown(() => pool.end())

const portOf = sql.type(z.object({ port: z.number() }))`SELECT current_setting('port')::int AS port`
const ports = (first: string, second: string) =>
  `postgres://postgres@127.0.0.1:${first},127.0.0.1:${second}/postgres`

t.test('the first of several hosts that accepts writes is used', async (t) => {
  const primary = new URL(url).port
  const setReadOnly = async (value: 'on' | 'off') => {
    await admin.query(`ALTER SYSTEM SET default_transaction_read_only = ${value}`)
    await admin.query('SELECT pg_reload_conf()')
    // The server passes it on by and by, to new connections first.
    const isThere = async () =>
      (await admin.query('SHOW default_transaction_read_only')).rows[0].default_transaction_read_only ===
      value
    await until(isThere, { what: `default_transaction_read_only to be ${value}`, intervalMs: 5 })
  }
  const used = async (databaseUrl: string) => {
    const pool = await openPool({ databaseUrl, connectionCountMax: 1 })
    const { port } = await pool.one(portOf)
    await pool.end()
    return String(port)
  }
  t.equal(await used(ports('1', primary)), primary, 'the first is not there')
  t.equal(await used(ports(String(other.port), primary)), String(other.port), 'both would do')
  await setReadOnly('on')
  t.teardown(() => setReadOnly('off'))
  const both = `${ports(String(other.port), primary)}?target_session_attrs=read-write`
  t.equal(await used(both), primary, 'the first is read-only')
  const message = new RegExp(
    `no host of DATABASE_URL accepts writes \\(127.0.0.1:${other.port} is read-only; 127.0.0.1:1: `,
  )
  await t.rejects(used(ports(String(other.port), '1')), message)
})

t.test('a changed password file is used by the next connection', async (t) => {
  const dir = await mkdtemp(join(tmpdir(), 'notifications-password-'))
  t.teardown(() => rm(dir, { recursive: true }))
  const file = join(dir, 'password')
  const { rows } = await admin.query('SHOW hba_file')
  await writeFile(
    rows[0].hba_file,
    'host all rotated 127.0.0.1/32 scram-sha-256\nhost all all 127.0.0.1/32 trust\n',
  )
  await admin.query('SELECT pg_reload_conf()')
  const rotate = async (password: string) => {
    await admin.query(`ALTER ROLE rotated PASSWORD '${password}'`)
    await writeFile(file, `${password}\n`)
  }
  await admin.query('CREATE ROLE rotated LOGIN')
  await rotate('first')
  const databaseUrl = `postgres://rotated@127.0.0.1:${other.port}/postgres?passwordfile=${encodeURIComponent(file)}`
  const pool = await openPool({ databaseUrl, connectionCountMax: 2 })
  t.teardown(() => pool.end())
  await rotate('second')
  await pool.connect(async (held) => {
    await held.query(sql.unsafe`SELECT 1`)
    t.strictSame(await pool.one(portOf), { port: other.port }, 'another connection')
  })
  await writeFile(file, 'wrong')
  await t.rejects(openPool({ databaseUrl, connectionCountMax: 1 }), /password authentication failed/)
  await writeFile(file, '\n')
  await t.rejects(openPool({ databaseUrl, connectionCountMax: 1 }), /^DATABASE_PASSWORD_FILE is empty/)
})

t.test('a transaction on a silent path ends after one wait, as an outage', async (t) => {
  const database = await createDatabase()
  const path = await startDatabaseProxy(database.url)
  const pool = await createPool('postgres:', {
    driverFactory: createDriver({
      databaseUrl: path.url,
      settings: SETTINGS,
      applicationName: APPLICATION_NAME,
      silenceMaxMs: 6_000,
    }),
    connectionRetryLimit: 0,
    transactionRetryLimit: 0,
    queryRetryLimit: 0,
    resetConnection: async () => {},
  })
  t.teardown(async () => {
    await pool.end()
    await path.close()
    await database.drop()
  })
  let deadSinceMs = 0
  const transaction = pool.transaction(async (tx) => {
    await tx.query(sql.unsafe`SELECT 1`)
    path.goDead()
    deadSinceMs = Date.now()
    await tx.query(sql.unsafe`SELECT 2`)
  })
  const error = await transaction.then(
    () => null,
    (error: unknown) => error,
  )
  t.ok(isUnreachable(error))
  t.ok(Date.now() - deadSinceMs < 12_000, 'no ROLLBACK was sent after it')
})

t.test('no caller waits for good on a server that hung, and the next one is answered', async (t) => {
  const path = await startDatabaseProxy(url)
  const opened = await createPool('postgres:', {
    driverFactory: createDriver({
      databaseUrl: path.url,
      settings: SETTINGS,
      applicationName: APPLICATION_NAME,
      // The next one has as long to be answered.
      silenceMaxMs: 2_000,
    }),
    maxPoolSize: 2,
    connectionRetryLimit: 0,
    queryRetryLimit: 0,
    resetConnection: async () => {},
  })
  const bounded = boundedPool(opened, 2, 8_000)
  t.teardown(async () => {
    await opened.end()
    await path.close()
  })
  const ask = () => bounded.oneFirst(portOf)
  path.freeze()
  const asked = Array.from({ length: 12 }, ask)
  const results = await Promise.allSettled(asked)
  t.ok(results.every((result) => result.status === 'rejected' && isUnreachable(result.reason)))
  t.equal(bounded.state().waitingClients, 0)
  path.thaw()
  t.equal(String(await ask()), new URL(url).port)
})

const settingsOf = sql.type(z.object({ found: z.record(z.string(), z.string()) }))`
  SELECT jsonb_object_agg(name, current_setting(name)) AS found
  FROM unnest(${sql.array(Object.keys(SETTINGS), 'text')}) AS name`

t.test('options that a server or proxy refuses at the start, in any words, are set afterwards', async (t) => {
  for (const [code, message] of [
    // AWS RDS Proxy, PgBouncer, and one that nobody has met yet.
    ['0A000', "RDS Proxy currently doesn't support command-line options"],
    ['08P01', 'unsupported startup parameter: options'],
    ['XX000', 'nicht erlaubt'],
  ] as const) {
    const path = await startDatabaseProxy(url)
    path.refuseStartUps((startUp) => (startUp.includes('options') ? { code, message } : null))
    const through = await openPool({ databaseUrl: path.url, connectionCountMax: 2, endWithClient: true })
    t.strictSame(await through.one(settingsOf), { found: SETTINGS }, message)
    await through.transaction(async (tx) => {
      t.strictSame(await tx.one(settingsOf), { found: SETTINGS }, message)
      t.equal(
        await tx.oneFirst(sql.unsafe`SHOW client_connection_check_interval`),
        OPTIONAL_SETTINGS.client_connection_check_interval,
      )
    })
    await through.end()
    await path.close()
  }
})

t.test('a server that refuses an optional setting is used without it, and reports it', async (t) => {
  const path = await startDatabaseProxy(url)
  t.teardown(() => path.close())
  // PostgreSQL on Windows.
  const refusal = {
    code: '22023',
    message: 'invalid value for parameter "client_connection_check_interval": 1000',
  }
  path.refuseStartUps((startUp) => (startUp.includes('client_connection_check_interval') ? refusal : null))
  const lists = await openPool({ databaseUrl: path.url, connectionCountMax: 1, endWithClient: true })
  t.teardown(() => lists.end())
  t.strictSame(await lists.one(settingsOf), { found: SETTINGS })
  t.strictSame((await describeServer(path.url)).refused, ['client_connection_check_interval'])
  t.strictSame((await describeServer(url)).refused, [])
})

t.test('a path that swallows large packets is noticed', async (t) => {
  const path = await startDatabaseProxy(url)
  t.teardown(() => path.close())
  t.equal((await describeServer(path.url)).isWide, true)
  path.swallowAbove(1_400)
  t.equal((await describeServer(path.url)).isWide, false)
})

t.test('a refusal that is not about settings is passed on', async (t) => {
  const path = await startDatabaseProxy(url)
  t.teardown(() => path.close())
  for (const code of ['28P01', '3D000', '53300', '57P03']) {
    let count = 0
    path.refuseStartUps(() => {
      count++
      return { code, message: 'no' }
    })
    await t.rejects(openPool({ databaseUrl: path.url, connectionCountMax: 1 }), /^no$/)
    t.equal(count, 1, 'one attempt')
  }
})

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
