import { sql } from 'slonik'
import t, { type Test } from 'tap'
import { z } from 'zod'
import { describeServer } from '../../../../src/operations/doctor/describe-server.ts'
import { sqlState } from '../../../../src/service/store/connection/errors.ts'
import { type DatabasePool, openPool, SETTINGS } from '../../../../src/service/store/connection/pool.ts'
import { inSnapshot } from '../../../../src/service/store/sql/snapshot.ts'
import { NO_PGBOUNCER, startPgBouncer } from '../../../stack/pgbouncer.ts'
import { openDatabase } from '../fixtures.ts'

t.jobs = 3

const { url, client } = await openDatabase(t)
// What a statement without settings would run under. The time zone: one hour from UTC in winter, two in summer.
const OTHERS = {
  TimeZone: 'Europe/Berlin',
  DateStyle: 'SQL, DMY',
  IntervalStyle: 'iso_8601',
  client_encoding: 'LATIN1',
  bytea_output: 'escape',
  extra_float_digits: '-15',
  array_nulls: 'off',
  standard_conforming_strings: 'off',
  search_path: 'information_schema',
  row_security: 'off',
  default_transaction_isolation: 'serializable',
}
for (const [name, value] of Object.entries(OTHERS)) {
  const others = name === 'search_path' || name === 'DateStyle' ? value : `'${value}'`
  await client.query(
    `DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET ${name} = ${others.replaceAll("'", "''")}', current_database()); END $$`,
  )
}

const IGNORE = 'extra_float_digits,options,statement_timeout,lock_timeout,idle_in_transaction_session_timeout'
const POOLERS: readonly (readonly [string, Record<string, string>])[] = [
  ['session mode', { pool_mode: 'session' }],
  ['transaction mode', { pool_mode: 'transaction' }],
  ['transaction mode, parameters ignored', { pool_mode: 'transaction', ignore_startup_parameters: IGNORE }],
  ['session mode, parameters ignored', { pool_mode: 'session', ignore_startup_parameters: IGNORE }],
]

async function aPool(
  t: Test,
  settings: Record<string, string>,
  connectionCountMax = 3,
): Promise<DatabasePool> {
  const pooler = await startPgBouncer(url, settings)
  t.teardown(() => pooler.close())
  const pool = await openPool({ databaseUrl: pooler.through(url), connectionCountMax })
  t.teardown(() => pool.end())
  return pool
}

const WANTED: Record<string, string> = { ...SETTINGS, transaction_isolation: 'read committed' }
const settings = sql.type(z.object({ found: z.record(z.string(), z.string()) }))`
  SELECT jsonb_object_agg(name, current_setting(name)) AS found
  FROM unnest(${sql.array(Object.keys(WANTED), 'text')}) AS name`
const winter = sql.type(z.object({ at: z.string(), epoch: z.number() }))`
  SELECT '2026-01-31 12:00:00.5+00'::timestamptz AS at, extract(epoch FROM '2026-01-31 12:00:00.5Z'::timestamptz)::float8 AS epoch`

for (const [mode, settingsOfPooler] of [['no pooler', null], ...POOLERS] as const) {
  const skip = settingsOfPooler !== null && NO_PGBOUNCER
  t.test(`${mode}: every statement runs under the settings, and times are right`, { skip }, async (t) => {
    const pool = settingsOfPooler
      ? await aPool(t, settingsOfPooler)
      : await openPool({ databaseUrl: url, connectionCountMax: 3 })
    if (!settingsOfPooler) t.teardown(() => pool.end())
    t.strictSame(await pool.one(settings), { found: WANTED }, 'outside transactions')
    await pool.transaction(async (tx) => {
      t.strictSame(await tx.one(settings), { found: WANTED }, 'in a transaction')
      t.strictSame(
        await tx.transaction((inner) => inner.one(settings)),
        { found: WANTED },
        'behind a savepoint',
      )
    })
    const level = await inSnapshot(pool, (tx) => tx.oneFirst(sql.unsafe`SHOW transaction_isolation`))
    t.equal(level, 'repeatable read', 'in a snapshot')
    t.strictSame(await pool.one(winter), { at: '2026-01-31T12:00:00.500000Z', epoch: 1_769_860_800.5 })
  })
}

t.test('the clock of the server is read right', async (t) => {
  t.ok(Math.abs((await describeServer(url)).aheadMs) < 60_000)
})

t.test('prepared statements work on used server connections', { skip: NO_PGBOUNCER }, async (t) => {
  const pool = await aPool(t, { pool_mode: 'transaction', default_pool_size: '2' }, 6)
  const prepared = (n: number) =>
    pool.transaction((tx) =>
      tx.oneFirst(sql.prepared('same-name', z.object({ n: z.number() }))`SELECT ${n}::int AS n`),
    )
  const numbers = Array.from({ length: 60 }, (_, n) => n)
  t.strictSame(await Promise.all(numbers.map(prepared)), numbers)
})

t.test('an error outside a transaction leaves the pool usable', { skip: NO_PGBOUNCER }, async (t) => {
  const pool = await aPool(t, { pool_mode: 'transaction', default_pool_size: '1' })
  await t.rejects(pool.query(sql.unsafe`SELECT 1/0`), /division by zero/)
  t.strictSame(await pool.one(settings), { found: WANTED })
})

t.test('a consumer paused in a transaction delays no other', { skip: NO_PGBOUNCER }, async (t) => {
  const pool = await aPool(t, { pool_mode: 'transaction' })
  await client.query('CREATE TABLE held (id int); INSERT INTO held VALUES (1)')
  const locked = Promise.withResolvers<void>()
  const released = Promise.withResolvers<void>()
  const paused = pool.transaction(async (tx) => {
    await tx.query(sql.unsafe`SELECT FROM held FOR UPDATE`)
    locked.resolve()
    await released.promise
    await tx.query(sql.unsafe`SELECT 1`)
  })
  paused.catch(() => {})
  await locked.promise
  // The guard against the holder and that of the waiter take as long: either way somebody else goes on within 10 s.
  const successor = () => pool.transaction((tx) => tx.query(sql.unsafe`SELECT FROM held FOR UPDATE`))
  const first = await successor().catch((error) => error)
  if (first instanceof Error) {
    t.equal(sqlState(first), '55P03')
    await successor()
  }
  released.resolve()
  await t.rejects(paused)
})

t.test('a pooler in statement mode is refused', { skip: NO_PGBOUNCER }, async (t) => {
  const pooler = await startPgBouncer(url, { pool_mode: 'statement' })
  t.teardown(() => pooler.close())
  await t.rejects(
    openPool({ databaseUrl: pooler.through(url), connectionCountMax: 1 }),
    /settings do not hold in transactions: .*set pool_mode of the pooler to transaction or session/,
  )
})
