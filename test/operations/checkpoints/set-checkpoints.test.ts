import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { setCheckpoints } from '../../../src/operations/checkpoints/set-checkpoints.ts'
import { openDatabase } from '../../service/store/fixtures.ts'

const { pool, client } = await openDatabase(t)

t.test('checkpoints that moved since they were read are not set, and Kafka is told nothing', async (t) => {
  let toldCount = 0
  const set = (...froms: readonly (bigint | null)[]) =>
    setCheckpoints(
      pool,
      froms.map((from, partition) => ({ topic: 'claims', partition, from, to: 40n })),
      { by: 'alice', because: 'a test' },
      async () => void toldCount++,
    )
  t.equal(await set(null, null), null)
  t.match(await set(40n, 39n), { topic: 'claims', partition: 1 })
  t.match(await set(null), { partition: 0 })
  t.equal(toldCount, 1)
  t.equal((await client.query('SELECT FROM notifications.checkpoint_change')).rowCount, 2)
})

t.test('checkpoints are set though Kafka takes longer than other transactions may idle', async (t) => {
  const change = { topic: 'billing', partition: 0, from: null, to: 40n }
  const tellKafka = () => sleep(6_000)
  t.equal(await setCheckpoints(pool, [change], { by: 'alice', because: 'a test' }, tellKafka), null)
  const set = `SELECT FROM notifications.projection_checkpoints WHERE topic = 'billing' AND "offset" = 40`
  t.equal((await client.query(set)).rowCount, 1)
})
