import { sql } from 'slonik'
import t, { type Test } from 'tap'
import { createDatabase } from '../../../src/service/app/pools.ts'
import { createLog } from '../../../src/service/telemetry/log.ts'
import { startDatabaseProxy } from '../../stack/database-proxy.ts'
import { aDatabase } from '../../stack/databases.ts'
import { until } from '../../stack/until.ts'

/** The service's database, by a path that can be disturbed. */
async function databaseByProxy(t: Test) {
  const { url } = await aDatabase(t)
  const path = await startDatabaseProxy(url)
  const database = await createDatabase({ url: path.url, poolMax: 2, httpPoolMax: 4 }, createLog('silent'))
  t.teardown(async () => {
    await database.close()
    await path.close()
  })
  return { path, database }
}

t.test('a pool that cannot be opened holds up no other, and is opened once it can be', async (t) => {
  const { path, database } = await databaseByProxy(t)
  let isRefused = true
  const refusal = { code: '53300', message: 'too many connections' }
  // Only the pool of the lists has this option.
  path.refuseStartUps((startUp) =>
    isRefused && startUp.includes('client_connection_check_interval') ? refusal : null,
  )
  const one = sql.unsafe`SELECT 1`
  const { pool } = await database.reach(new AbortController().signal, async () => {})
  t.equal(await pool.oneFirst(one), 1)
  await until(async () => (await database.fault()) === null, { what: 'the service to be ready' })
  t.equal(await database.httpPool().oneFirst(one), 1)
  t.ok(database.isUnavailable(t.throws(() => database.listPool())))
  isRefused = false
  const isOpen = async () => database.connections().some(({ pool }) => pool === 'lists')
  await until(isOpen, { what: 'the pool of the lists to open' })
  t.equal(await database.listPool().oneFirst(one), 1)
})

t.test('no probe waits for a database that hangs', async (t) => {
  const { path, database } = await databaseByProxy(t)
  await database.reach(new AbortController().signal, async () => {})
  await until(async () => (await database.fault()) === null, { what: 'the service to be ready' })
  path.freeze()
  const isSilent = async () => (await database.fault())?.startsWith('the database does not answer')
  await until(isSilent, { what: 'the silence to be named', timeoutMs: 10_000 })
  path.thaw()
})
