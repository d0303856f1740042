import pg from 'pg'
import t from 'tap'
import { describeHolder } from '../../../../src/operations/doctor/blocked-partitions.ts'
import { openPool } from '../../../../src/service/store/connection/pool.ts'
import {
  listCheckpointHolders,
  listLockedCheckpoints,
} from '../../../../src/service/store/read/list-checkpoints.ts'
import { ensureCheckpoint } from '../../../../src/service/store/write/checkpoints.ts'
import { createMigratedDatabase, onServer } from '../../../stack/databases.ts'
import { startPostgres } from '../../../stack/postgres.ts'
import { until } from '../../../stack/until.ts'

const server = await startPostgres()
t.teardown(() => server.close())
const alter = (name: string, value: string) =>
  onServer(server.url, async (client) => {
    await client.query(`ALTER SYSTEM SET ${name} = ${value}`)
    await client.query('SELECT pg_reload_conf()')
  })
await alter('max_prepared_transactions', '2')
await server.stop()
await server.start()
const { url } = await createMigratedDatabase(server.url)
const pool = await openPool({ databaseUrl: url, connectionCountMax: 2 })
const client = new pg.Client({ connectionString: url, application_name: 'a-shell' })
await client.connect()
t.teardown(async () => {
  await client.end()
  await pool.end()
})
for (const partition of [0, 1]) await ensureCheckpoint(pool, 'claims', partition)
const lock = 'SELECT FROM notifications.projection_checkpoints WHERE partition_id = 0 FOR UPDATE'
const LOCKED = [{ topic: 'claims', partition: 0, offset: -1n }]

t.test('a prepared transaction that holds a checkpoint is named, though no session has it', async (t) => {
  await client.query(`BEGIN; ${lock}; PREPARE TRANSACTION 'left-behind'`)
  t.strictSame(await listLockedCheckpoints(pool, ['claims']), LOCKED)
  const holders = await listCheckpointHolders(pool)
  t.match(holders, [{ kind: 'prepared', id: 'left-behind', userName: 'postgres' }])
  t.match(holders.map(describeHolder), [/only pg_prepared_xacts lists: .*ROLLBACK PREPARED 'left-behind'$/])
  await client.query(`ROLLBACK PREPARED 'left-behind'`)
  t.strictSame(await listLockedCheckpoints(pool, ['claims']), [])
})

t.test('a commit that waits for a standby which is gone is named as such', async (t) => {
  await alter('synchronous_standby_names', `'gone'`)
  await client.query(`BEGIN; ${lock}`)
  t.match(await listCheckpointHolders(pool), [{ kind: 'session', application: 'a-shell' }])
  const isWaiting = async () => (await listCheckpointHolders(pool)).some(({ kind }) => kind === 'commit')
  /** Resolves to the commit if it waits. The server passes the setting on by and by. */
  const commit = async () => {
    let isOver = false
    const ended = client.query('COMMIT').then(() => {
      isOver = true
    })
    await until(async () => isOver || isWaiting(), { what: 'the commit to end or to wait' })
    if (isOver) await client.query(`BEGIN; ${lock}`)
    return !isOver && { ended }
  }
  const { ended: committed } = await until(commit, { what: 'a commit to wait' })
  t.strictSame(
    await listLockedCheckpoints(pool, ['claims']),
    LOCKED,
    'without waiting for the standby itself',
  )
  t.match((await listCheckpointHolders(pool)).map(describeHolder), [
    /application "a-shell".* waits for a synchronous standby \(synchronous_standby_names = 'gone'\): start the standby/,
  ])
  await alter('synchronous_standby_names', `''`)
  await committed
  t.strictSame(await listLockedCheckpoints(pool, ['claims']), [])
})
