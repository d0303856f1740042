import { pino } from 'pino'
import { sql } from 'slonik'
import t from 'tap'
import { createDatabase } from '../../../src/service/app/pools.ts'
import { startDatabaseProxy } from '../../stack/database-proxy.ts'
import { createMigratedDatabase } from '../../stack/databases.ts'
import { until } from '../../stack/until.ts'

t.test('a pool that cannot be opened holds up no other, and is opened once it can be', async (t) => {
  const migrated = await createMigratedDatabase()
  const path = await startDatabaseProxy(migrated.url)
  const database = await createDatabase(
    { url: path.url, poolMax: 2, httpPoolMax: 4 },
    pino({ level: 'silent' }),
  )
  const stopping = new AbortController()
  t.teardown(async () => {
    stopping.abort()
    await database.close()
    await path.close()
    await migrated.drop()
  })
  let isRefused = true
  const refusal = { code: '53300', message: 'too many connections' }
  // Only the pool of the lists has this option.
  path.refuseStartUps((startUp) =>
    isRefused && startUp.includes('client_connection_check_interval') ? refusal : null,
  )
  const one = sql.unsafe`SELECT 1`
  const { pool } = await database.reach(stopping.signal, async () => {})
  t.equal(await pool.oneFirst(one), 1)
  await until(async () => (await database.fault()) === null, { what: 'the service to be ready' })
  t.equal(await database.httpPool().oneFirst(one), 1)
  t.ok(database.isUnavailable(t.throws(() => database.listPool())))
  isRefused = false
  const isOpen = async () => database.connections().some(({ pool }) => pool === 'lists')
  await until(isOpen, { what: 'the pool of the lists to open' })
  t.equal(await database.listPool().oneFirst(one), 1)
})
