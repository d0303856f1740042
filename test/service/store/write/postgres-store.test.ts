import { randomBytes } from 'node:crypto'
import pg from 'pg'
import { sql } from 'slonik'
import t from 'tap'
import { getRequest } from '../../../../src/operations/requests/list-requests.ts'
import { commitBatch } from '../../../../src/service/attempt/commit-batch.ts'
import { commitRetries } from '../../../../src/service/attempt/retry.ts'
import { isLocked } from '../../../../src/service/store/connection/errors.ts'
import { listDueEntries } from '../../../../src/service/store/read/list-due-entries.ts'
import { listLogEntries } from '../../../../src/service/store/read/list-log-entries.ts'
import { ensureCheckpoint, resetCheckpoint } from '../../../../src/service/store/write/checkpoints.ts'
import { insertEntries } from '../../../../src/service/store/write/insert-entries.ts'
import { createStore } from '../../../../src/service/store/write/postgres-store.ts'
import { recordDecisions } from '../../../../src/service/store/write/record-decisions.ts'
import { addRequest, takeRequest } from '../../../../src/service/store/write/request-row.ts'
import { skipUnreadable } from '../../../../src/service/store/write/skip-unreadable.ts'
import { aLookedUpBatch, aMaker } from '../../attempt/build.ts'
import { anAttempt, anOpenAttempt, FOUND, recordingSend, UNRESOLVED } from '../../decide/attempt/build.ts'
import { LIMITS, openDatabase } from '../fixtures.ts'

const { pool, client } = await openDatabase(t)
const maker = aMaker(createStore(pool), recordingSend().send)
await ensureCheckpoint(pool, 'claims', 0)

/** The beginning of each statement that `run` sends, one per round trip. */
async function statementsOf(run: () => Promise<unknown>): Promise<readonly string[]> {
  const statements: string[] = []
  const { query } = pg.Client.prototype
  pg.Client.prototype.query = function (this: pg.Client, ...args: unknown[]) {
    const [first] = args as [string | { text: string }]
    statements.push((typeof first === 'string' ? first : first.text).trim().replace(/\s+/g, ' '))
    return (query as (...args: unknown[]) => unknown).apply(this, args)
  } as typeof query
  await run().finally(() => {
    pg.Client.prototype.query = query
  })
  return statements
}

t.test('a batch without rejected messages takes five round trips, without new events four', async (t) => {
  const open = [anOpenAttempt('a'), anOpenAttempt('b', { contact: UNRESOLVED })]
  const statements = await statementsOf(() => commitBatch(maker, aLookedUpBatch(open)))
  t.match(statements, [
    /^START TRANSACTION/,
    /^WITH locked AS .* FOR UPDATE .* SKIP LOCKED .* FROM notifications.notification_preferences/,
    /^WITH inserted AS .* notifications.notification_log .* FROM notifications.request/,
    /^WITH recorded AS \( INSERT INTO notifications.decision .* UPDATE notifications.projection_checkpoints/,
    /^COMMIT/,
  ])
  t.equal(statements.length, 5)
  const empty = aLookedUpBatch([], { expectedCheckpoint: 1n, lastOffset: 2n })
  t.equal((await statementsOf(() => commitBatch(maker, empty))).length, 4)
})

t.test('a page of retries takes eight round trips, however many rows it has', async (t) => {
  const limits = { maxAgeMs: 3_600_000, attemptCountMax: 3, minPauseMs: -3_600_000 }
  const { due } = await listDueEntries(pool, limits, null, 10)
  const asked = due.map((entry) => ({ due: entry, contact: FOUND }))
  const statements = await statementsOf(() => commitRetries(maker, asked))
  t.match(statements, [
    /^START/,
    /FOR UPDATE/,
    /advisory/,
    /request/,
    /preferences/,
    /^UPDATE/,
    /^INSERT .*decision/,
    /^COMMIT/,
  ])
  t.equal(statements.length, 8)
})

t.test('an event with a long reference has its row, and the whole reference finds it', async (t) => {
  const { offset } = await ensureCheckpoint(pool, 'claims', 0)
  const long = randomBytes(3_300).toString('hex')
  const about = (eventId: string, locator: string) =>
    anOpenAttempt(eventId, { variables: { eventType: 'claim.paid', locator, reason: null } })
  const open = [about('long-1', `${long}1`), about('long-2', `${long}2`)]
  const result = await commitBatch(maker, aLookedUpBatch(open, { expectedCheckpoint: offset }))
  t.match(result, { kind: 'committed', inserted: { length: 2 }, rejected: [] })
  const { items } = await listLogEntries(pool, LIMITS, { reference: `${long}2` }, { limit: 10, after: null })
  t.strictSame(
    items.map(({ eventId }) => eventId),
    ['long-2'],
  )
})

t.test('a batch of which every row is refused costs little more than a try for each', async (t) => {
  await client.query(
    `ALTER TABLE notifications.notification_log ADD CONSTRAINT trap CHECK (event_id NOT LIKE 'refused%') NOT VALID`,
  )
  const { offset: expectedCheckpoint } = await ensureCheckpoint(pool, 'claims', 0)
  const count = 256
  const open = Array.from({ length: count }, (_, i) => anOpenAttempt(`refused-${i}`))
  const statements = await statementsOf(async () => {
    const result = await commitBatch(maker, aLookedUpBatch(open, { expectedCheckpoint }))
    t.match(result, { kind: 'committed', inserted: [], rejected: { length: count } })
  })
  const tries = statements.filter((statement) => statement.startsWith('SAVEPOINT')).length
  // The probe before and after, and one for each halving from the whole batch down to the first row.
  t.equal(tries, 2 + Math.log2(count) + count)
  await client.query('ALTER TABLE notifications.notification_log DROP CONSTRAINT trap')
})

const PLACE = { topic: 'billing', partition: 0 }
const load = async () => {
  const { isNew: _, ...checkpoint } = await ensureCheckpoint(pool, PLACE.topic, PLACE.partition)
  return checkpoint
}

t.test('a checkpoint remembers its last message until something else moves it', async (t) => {
  t.strictSame(await load(), { offset: -1n, lastMessage: null })
  for (const [offset, lastMessage] of [
    [2n, { offset: 1n, sha256: 'abc' }],
    [3n, { offset: 3n, sha256: 'def' }],
  ] as const) {
    await recordDecisions(pool, [], new Map(), 'table', [{ ...PLACE, offset, lastMessage }])
    t.strictSame(await load(), { offset, lastMessage })
  }
  t.equal(await resetCheckpoint(pool, 'billing', 0, 3n, 1n), 1n)
  t.strictSame(await load(), { offset: 1n, lastMessage: null })
  t.equal(await resetCheckpoint(pool, 'billing', 0, 3n, 0n), 1n, 'not if another consumer moved it')
})

t.test('unreadable offsets are not skipped once another consumer moved the checkpoint', async (t) => {
  const rejection = { code: 'unreadable', error: 'damaged' } as const
  const skip = async (checkpoint: bigint) => {
    const target = { ...PLACE, offset: String(checkpoint + 1n) }
    const id = await addRequest(pool, { kind: 'skip', target }, 'alice', 'a test')
    const request = await takeRequest(pool, [PLACE], false)
    if (request === null) throw new Error('no request was taken')
    const damaged = { ...PLACE, checkpoint, to: checkpoint + 4n, bytes: Buffer.of(7), rejection }
    await skipUnreadable(pool, request, damaged)
    return getRequest(pool, id)
  }
  t.match(await skip(0n), { state: 'stopped', note: /has moved to 1: nothing was skipped/ })
  t.strictSame(await load(), { offset: 1n, lastMessage: null })
  t.match(await skip(1n), { state: 'done', counts: { skipped: 1 } })
  t.strictSame(await load(), { offset: 5n, lastMessage: null })
  const { rows } = await client.query(
    'SELECT "offset", skipped_to FROM notifications.rejected_message WHERE topic = $1',
    [PLACE.topic],
  )
  t.strictSame(rows, [{ offset: '2', skipped_to: '5' }])
  t.equal(await resetCheckpoint(pool, 'billing', 0, 5n, 1n), 1n)
})

t.test('a locked checkpoint is refused at once', async (t) => {
  await client.query('BEGIN')
  await client.query('SELECT FROM notifications.projection_checkpoints FOR UPDATE')
  t.equal(await load().catch(isLocked), true)
  await client.query('ROLLBACK')
  t.strictSame(await load(), { offset: 1n, lastMessage: null })
})

t.test('a shared transaction waits only shortly, but lets a sender wait as usual', async (t) => {
  await ensureCheckpoint(pool, 'billing', 1)
  await client.query('BEGIN')
  await insertEntries(pool, [anAttempt('another')])
  await client.query(`SELECT FROM notifications.notification_log WHERE event_id = 'another' FOR UPDATE`)
  const places = [PLACE, { ...PLACE, partition: 1 }]
  await createStore(pool).transaction(async (tx) => {
    t.equal((await tx.lockCheckpoints(places, [])).offsets.size, 2)
    const limits = await tx.handOver((query) => query('SHOW lock_timeout'))
    t.strictSame(limits, [{ lock_timeout: '5s' }])
  })
  // As many at once as there are connections: one of them had the shared transaction.
  const timeouts = Array.from({ length: 8 }, () =>
    pool.transaction((tx) => tx.oneFirst(sql.unsafe`SHOW lock_timeout`)),
  )
  t.strictSame(new Set(await Promise.all(timeouts)), new Set(['5s']), 'its limits end with it')
  /** The number of the partitions once the row is not waited for any longer. */
  const givesUp = async (partitions: typeof places) => {
    const waiting = createStore(pool).transaction(async (tx) => {
      await tx.lockCheckpoints(partitions, [])
      await tx.updateEntries([anAttempt('another')], new Map())
    })
    t.ok(await waiting.catch(isLocked))
    return partitions.length
  }
  const alone = givesUp([{ ...PLACE, partition: 2 }])
  t.equal(await Promise.race([alone, givesUp(places)]), 2)
  t.equal(await alone, 1)
  await client.query('ROLLBACK')
})
