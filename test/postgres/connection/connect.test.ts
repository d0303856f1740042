import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { sql } from 'slonik'
import t from 'tap'
import { z } from 'zod'
import { openPool } from '../../../src/postgres/connection/pool.ts'
import { startPostgres } from '../../stack/postgres.ts'
import { until } from '../../stack/until.ts'
import { openDatabase } from '../fixtures.ts'

const { url } = await openDatabase(t)
// Another server, on which what belongs to a whole server can be changed.
const other = await startPostgres()
t.teardown(() => other.close())
const client = new pg.Client(other.url)
await client.connect()
t.teardown(() => client.end())

const portOf = sql.type(z.object({ port: z.number() }))`SELECT current_setting('port')::int AS port`
const ports = (first: string, second: string) =>
  `postgres://postgres@127.0.0.1:${first},127.0.0.1:${second}/postgres`

t.test('the first of several hosts that accepts writes is used', async (t) => {
  const primary = new URL(url).port
  const setReadOnly = async (value: 'on' | 'off') => {
    await client.query(`ALTER SYSTEM SET default_transaction_read_only = ${value}`)
    await client.query('SELECT pg_reload_conf()')
    // The server passes it on by and by, to new connections first.
    const isThere = async () =>
      (await client.query('SHOW default_transaction_read_only')).rows[0].default_transaction_read_only ===
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
  const { rows } = await client.query('SHOW hba_file')
  await writeFile(
    rows[0].hba_file,
    'host all rotated 127.0.0.1/32 scram-sha-256\nhost all all 127.0.0.1/32 trust\n',
  )
  await client.query('SELECT pg_reload_conf()')
  const rotate = async (password: string) => {
    await client.query(`ALTER ROLE rotated PASSWORD '${password}'`)
    await writeFile(file, `${password}\n`)
  }
  await client.query('CREATE ROLE rotated LOGIN')
  await rotate('first')
  const databaseUrl = `postgres://rotated@127.0.0.1:${other.port}/postgres?passwordfile=${encodeURIComponent(file)}`
  const pool = await openPool({ databaseUrl, connectionCountMax: 2 })
  t.teardown(() => pool.end())
  await rotate('second')
  await pool.connect(async (held) => {
    await held.query(sql.unsafe`SELECT 1`)
    t.same(await pool.one(portOf), { port: other.port }, 'another connection')
  })
  await writeFile(file, 'wrong')
  await t.rejects(openPool({ databaseUrl, connectionCountMax: 1 }), /password authentication failed/)
  await writeFile(file, '\n')
  await t.rejects(openPool({ databaseUrl, connectionCountMax: 1 }), /^DATABASE_PASSWORD_FILE is empty/)
})
