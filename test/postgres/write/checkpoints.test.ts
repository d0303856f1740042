import t from 'tap'
import { isLocked } from '../../../src/postgres/connection/errors.ts'
import { loadCheckpoint, resetCheckpoint } from '../../../src/postgres/write/checkpoints.ts'
import { recordDecisions } from '../../../src/postgres/write/record-decisions.ts'
import { openDatabase } from '../fixtures.ts'

const { pool, client } = await openDatabase(t)
const PLACE = { topic: 'claims', partition: 0 }
const load = () => loadCheckpoint(pool, PLACE.topic, PLACE.partition)

t.test('a checkpoint remembers its last message until something else moves it', async (t) => {
  t.same(await load(), { offset: -1n, lastMessage: null })
  for (const [offset, lastMessage] of [
    [2n, { offset: 1n, sha256: 'abc' }],
    [3n, { offset: 3n, sha256: 'def' }],
  ] as const) {
    await recordDecisions(pool, [], new Map(), 'table', { ...PLACE, offset, lastMessage })
    t.same(await load(), { offset, lastMessage })
  }
  t.equal(await resetCheckpoint(pool, 'claims', 0, 3n, 1n), 1n)
  t.same(await load(), { offset: 1n, lastMessage: null })
  t.equal(await resetCheckpoint(pool, 'claims', 0, 3n, 0n), 1n, 'not if another consumer moved it')
})

t.test('a locked checkpoint is refused at once', async (t) => {
  await client.query('BEGIN')
  await client.query('SELECT FROM notifications.projection_checkpoints FOR UPDATE')
  t.ok(await load().catch(isLocked))
  await client.query('ROLLBACK')
  t.same(await load(), { offset: 1n, lastMessage: null })
})
