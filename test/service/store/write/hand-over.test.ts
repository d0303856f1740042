import t from 'tap'
import { commitBatch } from '../../../../src/service/attempt/commit-batch.ts'
import type { Answer, Query } from '../../../../src/service/decide/attempt/delivery.ts'
import { sendByChannel } from '../../../../src/service/send/send.ts'
import type { Sender } from '../../../../src/service/send/sender.ts'
import { ensureCheckpoint } from '../../../../src/service/store/write/checkpoints.ts'
import { createStore } from '../../../../src/service/store/write/postgres-store.ts'
import { aLookedUpBatch, aMaker } from '../../attempt/build.ts'
import { anOpenAttempt } from '../../decide/attempt/build.ts'
import { someSenders } from '../../send/build.ts'
import { openDatabase } from '../fixtures.ts'

const { pool, client } = await openDatabase(t)
await client.query('CREATE TABLE public.queue (key text PRIMARY KEY, rank int CHECK (rank < 10))')
const rowsOf = async (query: string) => (await client.query(query)).rows
const queued = async () => (await rowsOf('SELECT key FROM public.queue ORDER BY key')).map(({ key }) => key)
const logged = () =>
  rowsOf(`SELECT event_id, status, failure_reason FROM notifications.notification_log ORDER BY event_id`)

t.beforeEach(async () => {
  await client.query('TRUNCATE public.queue, notifications.notification_log, notifications.decision')
  await client.query('TRUNCATE notifications.projection_checkpoints')
  await ensureCheckpoint(pool, 'claims', 0)
})

const enqueue = (query: Query, key: string, rank = 0) =>
  query('INSERT INTO public.queue (key, rank) VALUES ($1, $2) RETURNING key', [key, rank])
const ACCEPTED: Answer = { answer: 'accepted', receipt: 'queued' }

/** Dispatches a batch of events through a sender, one message a call. */
function dispatch(
  send: (key: string, query: Query) => Promise<Answer>,
  eventIds: string[],
  deadlineMs?: number,
) {
  const sender: Sender = {
    countMax: 1,
    send: async ([message], { query }) => [await send(message?.idempotencyKey ?? '', query)],
  }
  const maker = aMaker(createStore(pool), sendByChannel(someSenders({ EMAIL: sender }), deadlineMs))
  return commitBatch(maker, aLookedUpBatch(eventIds.map((id) => anOpenAttempt(id))))
}

t.test('the writes of a sender are committed with the row, or not at all', async (t) => {
  const send = async (key: string, query: Query) => {
    t.strictSame(await enqueue(query, key), [{ key }])
    return ACCEPTED
  }
  await dispatch(send, ['a', 'b'])
  t.strictSame(await queued(), ['a/1', 'b/1'])
  await client.query('ALTER TABLE notifications.decision ADD CONSTRAINT trap CHECK (false) NOT VALID')
  t.teardown(() => client.query('ALTER TABLE notifications.decision DROP CONSTRAINT IF EXISTS trap'))
  await client.query(`UPDATE notifications.projection_checkpoints SET "offset" = -1`)
  await t.rejects(dispatch(send, ['c']), /trap/)
  t.strictSame(await queued(), ['a/1', 'b/1'])
})

/** A statement that is refused, and the SQLSTATE of its error. */
const REFUSED: readonly (readonly [what: string, statement: string, code: string])[] = [
  ['for its data', `INSERT INTO public.queue VALUES ('x', 99)`, '23514'],
  ['for its type', `INSERT INTO public.queue VALUES ('x', 'x'::text::int)`, '22P02'],
  ['for want of a table', 'INSERT INTO public.nothing VALUES (1)', '42P01'],
]
for (const [what, statement, code] of REFUSED) {
  t.test(`a statement refused ${what} is undone alone, and its message is FAILED`, async (t) => {
    await dispatch(
      async (key, query) => {
        await enqueue(query, key)
        if (key === 'b/1') await query(statement)
        return ACCEPTED
      },
      ['a', 'b', 'c'],
    )
    t.match(await logged(), [
      { event_id: 'a', status: 'SENT' },
      { event_id: 'b', status: 'FAILED', failure_reason: `the EMAIL sender failed (${code})` },
      { event_id: 'c', status: 'SENT' },
    ])
    t.strictSame(await queued(), ['a/1', 'b/1', 'c/1'])
  })
}

t.test('a statement that loses a conflict fails the attempt', async (t) => {
  await t.rejects(
    dispatch(
      async (key, query) => {
        await enqueue(query, key)
        await query(`DO $$ BEGIN RAISE EXCEPTION 'deadlock detected' USING ERRCODE = '40P01'; END $$`)
        return ACCEPTED
      },
      ['a'],
    ),
    /deadlock detected/,
  )
  t.strictSame([await queued(), await logged()], [[], []])
})

t.test('the running statement is awaited at the deadline, and none follows it', async (t) => {
  const late = Promise.withResolvers<unknown>()
  await dispatch(
    async (key, query) => {
      // On a busy machine the deadline may have passed before the first statement.
      await query('SELECT pg_sleep(0.3)')
        .then(() => enqueue(query, key))
        .catch(late.resolve)
      return ACCEPTED
    },
    ['a'],
    100,
  )
  t.match(await late.promise, /nothing is written/)
  t.match(await logged(), [{ failure_reason: 'the EMAIL sender did not answer within 100 ms' }])
  t.strictSame(await queued(), [])
})

t.test('statements of both channels run one by one, and a refused one affects no other', async (t) => {
  const results = await createStore(pool).transaction((tx) =>
    tx.handOver((query) =>
      Promise.allSettled([
        enqueue(query, 'a'),
        enqueue(query, 'b', 99),
        enqueue(query, 'c'),
        enqueue(query, 'a'),
      ]),
    ),
  )
  t.strictSame(
    results.map(({ status }) => status),
    ['fulfilled', 'rejected', 'fulfilled', 'rejected'],
  )
  t.strictSame(await queued(), ['a', 'c'])
})
