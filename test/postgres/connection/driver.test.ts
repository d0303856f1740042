import { createPool, sql } from 'slonik'
import t from 'tap'
import { createDriver } from '../../../src/postgres/connection/driver.ts'
import { isUnreachable } from '../../../src/postgres/connection/errors.ts'
import { APPLICATION_NAME, SETTINGS } from '../../../src/postgres/connection/pool.ts'
import { startDatabaseProxy } from '../../stack/database-proxy.ts'
import { createDatabase } from '../../stack/databases.ts'

t.test('a transaction on a silent path ends after one wait, as an outage', async (t) => {
  const database = await createDatabase()
  const path = await startDatabaseProxy(database.url)
  const pool = await createPool('postgres:', {
    driverFactory: createDriver({
      databaseUrl: path.url,
      settings: SETTINGS,
      applicationName: APPLICATION_NAME,
      silenceMaxMs: 2_000,
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
  t.ok(Date.now() - deadSinceMs < 4_000, 'no ROLLBACK was sent after it')
})
