import t from 'tap'
import { eraseEntries } from '../../../../src/operations/erase/erase-entries.ts'
import { eraseRejected } from '../../../../src/operations/erase/erase-rejected-messages.ts'
import { beginErasure } from '../../../../src/operations/erase/erasure-record.ts'
import { commitRetries } from '../../../../src/service/attempt/retry.ts'
import type { Deliveries, Send } from '../../../../src/service/decide/attempt/delivery.ts'
import type { RetryEntry } from '../../../../src/service/decide/attempt/retry-entry.ts'
import { listDueEntries } from '../../../../src/service/store/read/list-due-entries.ts'
import { insertRejectedMessages } from '../../../../src/service/store/write/insert-rejected-messages.ts'
import { createStore } from '../../../../src/service/store/write/postgres-store.ts'
import { until } from '../../../stack/until.ts'
import { aMaker, commitRequested } from '../../attempt/build.ts'
import { aMessage } from '../../build.ts'
import { FOUND } from '../../decide/attempt/build.ts'
import { openDatabase } from '../fixtures.ts'
import { record, UNRESOLVED } from '../record.ts'

const { pool, client } = await openDatabase(t)
const store = createStore(pool)
const REQUEST = { id: '1', by: 'alice', because: 'an outage' }
const ANY = { maxAgeMs: 3_600_000, attemptCountMax: 3, minPauseMs: -3_600_000 }

t.beforeEach(async () => {
  await client.query(`
    TRUNCATE notifications.notification_log, notifications.decision, notifications.projection_checkpoints,
      notifications.erasure`)
  await record(pool, [{ eventId: 'a', contact: UNRESOLVED }])
})

const LOCK_WAITS = `
  SELECT FROM pg_stat_activity
  WHERE wait_event_type = 'Lock' AND datname = current_database() AND backend_type = 'client backend'`
const isErasureWaiting = async () => (await client.query(LOCK_WAITS)).rowCount === 1

async function failedEntry(): Promise<RetryEntry> {
  const { due } = await listDueEntries(pool, ANY, null, 1)
  if (due[0] === undefined) throw new Error('nothing is due')
  return due[0]
}

/** The row as SKIPPED, to be retried on request. */
async function skippedEntry(): Promise<RetryEntry> {
  const entry = await failedEntry()
  await client.query(`
    UPDATE notifications.notification_log
    SET status = 'SKIPPED', subject = NULL, body = NULL, last_attempt_at = NULL`)
  return { ...entry, subject: null, body: null, status: 'SKIPPED' }
}

async function retry(
  entry: RetryEntry,
  send: Send = async () => new Map(),
  request: typeof REQUEST | null = REQUEST,
) {
  const asked = [{ due: entry, contact: FOUND }]
  const maker = aMaker(store, send)
  return request === null
    ? (await commitRetries(maker, asked)).attempts
    : commitRequested(maker, asked, request)
}

t.test('a row erased after it was read is never retried', async (t) => {
  const failed = await failedEntry()
  const erasure = await beginErasure(pool, 'party-1', 'bob')
  await eraseEntries(pool, erasure, [failed.locator])
  t.strictSame(await retry(failed, undefined, null), [])
  await client.query('TRUNCATE notifications.erasure')
  t.strictSame(await retry({ ...failed, status: 'SKIPPED' }), [], 'its decision is erased')
})

for (const change of [
  `facts = facts || '{"invalidLocator": true, "ofNewerVersion": "urgent"}'`,
  `facts = facts || '{"ofNewerVersion": "urgent"}', reason = 'invalid party locator'`,
])
  t.test(`a retry keeps what the event stated, though it reads no message: ${change}`, async (t) => {
    await client.query(`UPDATE notifications.decision SET ${change}`)
    const [attempt] = await retry(await failedEntry(), undefined, null)
    t.match(attempt?.decision.facts, { party: 'found', invalidLocator: true, ofNewerVersion: 'urgent' })
  })

t.test('a row of a party under erasure is not retried on request', async (t) => {
  const skipped = await skippedEntry()
  await beginErasure(pool, 'party-1', 'bob')
  t.strictSame(await retry(skipped), [])
})

for (const request of [REQUEST, null]) {
  const what = request === null ? 'running' : 'requested'
  t.test(`an erasure waits for a ${what} retry, and blanks the text that it wrote`, async (t) => {
    const entry = request === null ? await failedEntry() : await skippedEntry()
    const erasure = await beginErasure(pool, request === null ? 'party-1' : 'party-2', 'bob')
    const sending = Promise.withResolvers<void>()
    const sent = Promise.withResolvers<Deliveries>()
    const send = () => {
      sending.resolve()
      return sent.promise
    }
    const retried = retry(entry, send, request)
    await sending.promise
    const erased = eraseEntries(pool, erasure, [entry.locator])
    await until(isErasureWaiting, { what: 'the erasure to wait', timeoutMs: 20_000 })
    sent.resolve(new Map())
    t.equal((await retried).length, 1)
    await erased
    const { rows } = await client.query(`
      SELECT status, body, (
        SELECT count(*)::int FROM notifications.decision
        WHERE decision.locator = entry.locator AND erased_at IS NULL
      ) AS "left" FROM notifications.notification_log AS entry`)
    t.strictSame(rows, [{ status: 'SENT', body: null, left: 0 }])
  })
}

t.test('an erasure waits for a redrive, and an erased message is not redriven', async (t) => {
  const rejection = { code: 'not-json', error: 'no' } as const
  await insertRejectedMessages(pool, { topic: 'claims', partition: 0 }, [{ message: aMessage(), rejection }])
  const { rows } = await client.query('SELECT id FROM notifications.rejected_message')
  const id = BigInt(rows[0].id)
  const erasure = await beginErasure(pool, 'party-1', 'bob')
  let erased = Promise.resolve(0)
  await store.transaction(async (tx) => {
    t.equal(await tx.lockRejected(id), true)
    erased = eraseRejected(pool, erasure, [id])
    await until(isErasureWaiting, { what: 'the erasure to wait', timeoutMs: 20_000 })
  })
  t.equal(await erased, 1)
  t.equal(await store.transaction((tx) => tx.lockRejected(id)), false)
})
