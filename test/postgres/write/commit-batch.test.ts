import { createHash } from 'node:crypto'
import t from 'tap'
import { VALUE_BYTES_MAX } from '../../../src/core/event/parse-event.ts'
import { loadCheckpoint, resetCheckpoint } from '../../../src/postgres/write/checkpoints.ts'
import { commitBatch } from '../../../src/postgres/write/commit-batch.ts'
import { aBatch, aMessage, anEntry, openDatabase, recordingSend } from '../fixtures.ts'

const { pool, client } = await openDatabase(t)
t.beforeEach(async () => {
  await client.query(`
    TRUNCATE notifications.notification_log, notifications.decision, notifications.rejected_message,
      notifications.projection_checkpoints`)
  await loadCheckpoint(pool, 'claims', 0)
})

const rowsOf = async (sql: string) => (await client.query(sql)).rows
const log = () => rowsOf('SELECT * FROM notifications.notification_log ORDER BY event_id')
const decisions = () => rowsOf('SELECT * FROM notifications.decision ORDER BY event_id')
const checkpoint = async () => (await loadCheckpoint(pool, 'claims', 0)).offset

t.test('a batch writes rows, decisions and the checkpoint together', async (t) => {
  const { sent, send } = recordingSend()
  const result = await commitBatch(pool, aBatch([anEntry('b'), anEntry('a')]), send)
  t.equal(result.kind, 'committed')
  t.same(sent, ['a', 'b'])
  t.match(await log(), [
    { event_id: 'a', status: 'SENT', attempt_count: 1, sent_at: Date, subject: 'Your claim' },
    { event_id: 'b' },
  ])
  t.match(await decisions(), [
    {
      event_id: 'a',
      attempt: 1,
      receipt: 'r',
      send_error: null,
      rule_table_revision: 'def',
      topic: 'claims',
    },
    { event_id: 'b' },
  ])
  t.equal(await checkpoint(), 1n)
})

t.test('a checkpoint remembers its last message until something else moves it', async (t) => {
  const lastMessage = { offset: 1n, sha256: 'abc' }
  await commitBatch(pool, aBatch([anEntry('a')], { nextOffset: 2n, lastMessage }), recordingSend().send)
  t.same(await loadCheckpoint(pool, 'claims', 0), { offset: 2n, lastMessage })
  const next = { offset: 3n, sha256: 'def' }
  await commitBatch(
    pool,
    aBatch([], { heldOffset: 2n, nextOffset: 3n, lastMessage: next }),
    recordingSend().send,
  )
  t.same(await loadCheckpoint(pool, 'claims', 0), { offset: 3n, lastMessage: next })
  await resetCheckpoint(pool, 'claims', 0, 3n, 1n)
  t.same(await loadCheckpoint(pool, 'claims', 0), { offset: 1n, lastMessage: null })
})

t.test('an event that is logged already is neither written nor sent again', async (t) => {
  await commitBatch(pool, aBatch([anEntry('a')]), recordingSend().send)
  const { sent, send } = recordingSend()
  const again = aBatch([anEntry('a'), anEntry('b')], { heldOffset: 0n, nextOffset: 2n })
  const result = await commitBatch(pool, again, send)
  t.same(sent, ['b'])
  t.match(result, { kind: 'committed', inserted: [{ event: { eventId: 'b' } }] })
  t.equal((await log()).length, 2)
  t.equal((await decisions()).length, 2)
})

t.test('a checkpoint that another consumer moved writes and sends nothing', async (t) => {
  await client.query(`UPDATE notifications.projection_checkpoints SET "offset" = 7`)
  const { sent, send } = recordingSend()
  t.same(await commitBatch(pool, aBatch([anEntry('a')]), send), { kind: 'moved', checkpoint: 7n })
  t.same(sent, [])
  t.same(await log(), [])
  t.equal(await checkpoint(), 7n)
})

t.test('a row whose sender fails is FAILED with the sender’s reason and one attempt', async (t) => {
  const { send } = recordingSend((eventId) =>
    eventId === 'a' ? { receipt: null, error: 'mailbox on fire' } : { receipt: 'r', error: null },
  )
  const result = await commitBatch(pool, aBatch([anEntry('a'), anEntry('b')]), send)
  t.match(result, { inserted: [{ status: 'FAILED' }, { status: 'SENT' }] }, 'as it is stored')
  t.match(await log(), [
    { status: 'FAILED', failure_reason: 'mailbox on fire', attempt_count: 1, sent_at: null, body: String },
    { status: 'SENT', failure_reason: null },
  ])
  t.match(await decisions(), [
    { outcome: 'SEND', receipt: null, send_error: 'mailbox on fire' },
    { receipt: 'r' },
  ])
})

t.test('a message that is no event is kept whole, once', async (t) => {
  const rejection = { code: 'not-json', error: 'the value is not valid JSON' } as const
  const message = {
    offset: 0n,
    key: Buffer.from([0, 255]),
    value: Buffer.from([0xff, 0, 1]),
    headers: { 'h\0': [Buffer.from('x'), Buffer.from([0xff])] },
  }
  const rejected = [
    { message, rejection },
    { message: aMessage(1n, null), rejection },
  ]
  await commitBatch(pool, aBatch([], { rejected, nextOffset: 1n }), recordingSend().send)
  await client.query(`UPDATE notifications.projection_checkpoints SET "offset" = -1`)
  await commitBatch(pool, aBatch([], { rejected, nextOffset: 1n }), recordingSend().send)
  t.match(await rowsOf('SELECT * FROM notifications.rejected_message ORDER BY "offset"'), [
    {
      key: Buffer.from([0, 255]),
      value: Buffer.from([0xff, 0, 1]),
      headers: { 'h\uFFFD': ['eA==', '/w=='] },
    },
    { key: null, value: null },
  ])
  t.equal((await rowsOf('SELECT FROM notifications.rejected_message')).length, 2)
})

t.test('of a value too large to be kept whole, its begin is kept, its size and its hash', async (t) => {
  const value = Buffer.alloc(VALUE_BYTES_MAX + 1, 'x')
  const rejection = { code: 'too-large', error: 'too large' } as const
  const rejected = [{ message: { ...aMessage(0n), value }, rejection }]
  await commitBatch(pool, aBatch([], { rejected, nextOffset: 0n }), recordingSend().send)
  const [row] = await rowsOf('SELECT * FROM notifications.rejected_message')
  t.equal(row.value.length, 65_536)
  const hash = createHash('sha256').update(value).digest('hex')
  t.equal(row.error, `too large; stored: its first 65536 bytes and its SHA-256 ${hash}`)
})

t.test('of headers and a key too large to be stored, what can be is kept', async (t) => {
  const megabyte = Buffer.alloc(1024 * 1024, 'x')
  const headers = { a: [Buffer.from('1')], b: Array.from({ length: 200 }, () => megabyte) }
  const key = Buffer.alloc(VALUE_BYTES_MAX + 1)
  const rejection = { code: 'not-json', error: 'no' } as const
  const rejected = [{ message: { ...aMessage(0n), key, headers }, rejection }]
  t.match(await commitBatch(pool, aBatch([], { rejected, nextOffset: 0n }), recordingSend().send), {
    kind: 'committed',
  })
  const [row] = await rowsOf('SELECT * FROM notifications.rejected_message')
  t.equal(row.key.length, 65_536)
  t.strictSame([row.headers.a, row.headers.b.length], [['MQ=='], 15])
  t.match(row.error, /^no; stored: of the key its first 65536 bytes and .*; not stored: 185 of its headers$/)
})

t.test('a row that PostgreSQL refuses is rejected alone, before anything is sent', async (t) => {
  await client.query(
    `ALTER TABLE notifications.notification_log ADD CONSTRAINT trap CHECK (event_id <> 'bad')`,
  )
  t.teardown(() => client.query('ALTER TABLE notifications.notification_log DROP CONSTRAINT trap'))
  const { sent, send } = recordingSend()
  const entries = Array.from({ length: 9 }, (_, i) =>
    anEntry(i === 4 ? 'bad' : `good-${i}`, { offset: BigInt(i) }),
  )
  const result = await commitBatch(pool, aBatch(entries), send)
  t.equal(sent.length, 8)
  t.notOk(sent.includes('bad'))
  t.equal((await log()).length, 8)
  t.match(result, { kind: 'committed', rejected: [{ rejection: { code: 'refused-by-database' } }] })
  t.match(await rowsOf('SELECT * FROM notifications.rejected_message'), [
    { offset: '4', code: 'refused-by-database', error: /violates check constraint "trap"/ },
  ])
  t.equal(await checkpoint(), 8n)
})

t.test('every message of a batch that is a refused event is kept', async (t) => {
  await client.query(
    `ALTER TABLE notifications.notification_log ADD CONSTRAINT trap CHECK (event_id <> 'bad')`,
  )
  t.teardown(() => client.query('ALTER TABLE notifications.notification_log DROP CONSTRAINT trap'))
  const messagesOf = () => [aMessage(0n, 'first'), aMessage(2n, 'second')]
  await commitBatch(
    pool,
    aBatch([anEntry('bad'), anEntry('good', { offset: 1n })], { messagesOf }),
    recordingSend().send,
  )
  t.match(await rowsOf('SELECT * FROM notifications.rejected_message ORDER BY "offset"'), [
    { offset: '0', value: Buffer.from('first') },
    { offset: '2', value: Buffer.from('second') },
  ])
  t.match(await log(), [{ event_id: 'good' }])
})

t.test('a schema that refuses every row rejects no message', async (t) => {
  await client.query('ALTER TABLE notifications.notification_log ADD CONSTRAINT trap CHECK (false) NOT VALID')
  t.teardown(() => client.query('ALTER TABLE notifications.notification_log DROP CONSTRAINT trap'))
  await t.rejects(commitBatch(pool, aBatch([anEntry('a')]), recordingSend().send))
  t.same(await rowsOf('SELECT * FROM notifications.rejected_message'), [])
  t.equal(await checkpoint(), -1n)
})

t.test('the same ids in two partitions at once give one row and one send each', async (t) => {
  const ids = Array.from({ length: 500 }, (_, i) => `event-${i}`)
  await loadCheckpoint(pool, 'claims', 1)
  const { sent, send } = recordingSend()
  await Promise.all([
    commitBatch(pool, aBatch(ids.map((id) => anEntry(id))), send),
    commitBatch(
      pool,
      aBatch(
        ids.toReversed().map((id) => anEntry(id)),
        { partition: 1 },
      ),
      send,
    ),
  ])
  t.equal((await log()).length, 500)
  t.equal(sent.length, 500)
})
