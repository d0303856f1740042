import pg from 'pg'
import t from 'tap'
import { createDatabase } from './databases.ts'

t.test('a database is dropped once the connections of a pool that has ended are gone', async (t) => {
  const faults: Error[] = []
  for (let round = 0; round < 10; round++) {
    const database = await createDatabase()
    const pool = new pg.Pool({ connectionString: database.url, max: 10 })
    pool.on('error', (fault) => faults.push(fault))
    await Promise.all(Array.from({ length: 10 }, () => pool.query('SELECT pg_sleep(0.01)')))
    await pool.end()
    await database.drop()
  }
  t.same(faults, [])
})
