import t from 'tap'
import type { PreparedRetries, RetriedEntry } from '../../../src/core/log/decide-retry.ts'
import type { Deliveries } from '../../../src/core/log/delivery.ts'
import type { DueEntry } from '../../../src/core/log/due-entry.ts'
import { listDueEntries } from '../../../src/postgres/read/list-due-entries.ts'
import { eraseEntries } from '../../../src/postgres/retention/erase-entries.ts'
import { beginErasure } from '../../../src/postgres/retention/erasure-record.ts'
import { loadCheckpoint } from '../../../src/postgres/write/checkpoints.ts'
import { commitBatch } from '../../../src/postgres/write/commit-batch.ts'
import { commitRetries } from '../../../src/postgres/write/commit-retries.ts'
import { ADVISORY_LOCK_WAITS } from '../../stack/databases.ts'
import { until } from '../../stack/until.ts'
import { aBatch, aFailedEntry, anEntry, openDatabase, recordingSend } from '../fixtures.ts'

const { pool, client } = await openDatabase(t)

const limits = { maxAgeMs: 24 * 3_600_000, attemptCountMax: 3, minPauseMs: 55_000 }
const noDelivery = async () => new Map()
const quiet = { error: (fields: object) => t.fail('a row was refused', fields) }

t.beforeEach(async () => {
  await client.query(`
    TRUNCATE notifications.notification_log, notifications.decision, notifications.projection_checkpoints`)
  await loadCheckpoint(pool, 'claims', 0)
  await commitBatch(pool, aBatch(['a', 'b', 'c'].map(aFailedEntry)), noDelivery)
  await client.query(`UPDATE notifications.notification_log SET last_attempt_at = now() - interval '56 s'`)
})

const due = async () => (await listDueEntries(pool, limits, null, 500)).due
const ids = (entries: readonly DueEntry[]) => entries.map((entry) => entry.eventId).sort()

/** A retry of a due row that sends it by EMAIL. */
function sending(entry: DueEntry): RetriedEntry {
  const { decision } = anEntry(entry.eventId)
  return {
    due: entry,
    decision,
    status: 'SENT',
    attemptCount: entry.attemptCount + 1,
    address: 'a@example.com',
  }
}

/** The retries of due rows, all sent by EMAIL whatever is known of their parties. */
function retriesOf(entries: readonly DueEntry[], ruleTableRevision = 'def'): PreparedRetries {
  const asked = entries.map((entry) => ({ due: entry, contact: undefined }))
  return { ruleTableRevision, asked, request: null, decide: ({ due }) => sending(due) }
}

t.test(
  'failed rows are due until an age, a number of attempts or a recent attempt says otherwise',
  async (t) => {
    t.same(ids(await due()), ['a', 'b', 'c'])
    const cases = [
      [`created_at = now() - interval '24 h'`, ['b', 'c']],
      [`created_at = now() - interval '23 h 59 min'`, ['a', 'b', 'c']],
      [`attempt_count = 3`, ['b', 'c']],
      [`attempt_count = 2`, ['a', 'b', 'c']],
      [`last_attempt_at = now() - interval '50 s'`, ['b', 'c']],
    ] as const
    for (const [change, expected] of cases) {
      const before = (await client.query(`SELECT * FROM notifications.notification_log WHERE event_id = 'a'`))
        .rows[0]
      await client.query(`UPDATE notifications.notification_log SET ${change} WHERE event_id = 'a'`)
      t.same(ids(await due()), expected, change)
      await client.query(
        `UPDATE notifications.notification_log SET created_at = $1, attempt_count = $2, last_attempt_at = $3
       WHERE event_id = 'a'`,
        [before.created_at, before.attempt_count, before.last_attempt_at],
      )
    }
  },
)

t.test('due rows are paged, each once', async (t) => {
  const first = await listDueEntries(pool, limits, null, 2)
  t.not(first.next, null)
  const second = await listDueEntries(pool, limits, first.next, 2)
  t.equal(second.next, null)
  t.same(ids([...first.due, ...second.due]), ['a', 'b', 'c'])
  const again = await listDueEntries(pool, limits, null, 500, first.next)
  t.same(ids(again.due), ids(first.due), 'up to a row, that row included')
  t.equal(again.next, null)
})

t.test('a retry is sent once, counted, and explained by a decision of its own', async (t) => {
  const [entry] = await due()
  if (entry === undefined) throw new Error('nothing is due')
  const { sent, send } = recordingSend()
  const made = await commitRetries(pool, retriesOf([entry], 'table-2'), send, quiet)
  t.equal(made.length, 1)
  t.same(sent, [entry.eventId])
  const { rows } = await client.query('SELECT * FROM notifications.notification_log WHERE locator = $1', [
    entry.locator,
  ])
  t.match(rows, [{ status: 'SENT', attempt_count: 1, failure_reason: null, sent_at: Date, body: entry.body }])
  const decisions = await client.query(
    'SELECT * FROM notifications.decision WHERE locator = $1 ORDER BY attempt',
    [entry.locator],
  )
  t.match(decisions.rows, [
    { attempt: 0, outcome: 'FAIL', receipt: null },
    {
      attempt: 1,
      outcome: 'SEND',
      receipt: 'r',
      rule_table_revision: 'table-2',
      topic: 'claims',
      variables: {},
    },
  ])
  t.notOk(ids(await due()).includes(entry.eventId))
})

t.test(
  'a row that is skipped on retry loses its text; one that fails again keeps it and is counted',
  async (t) => {
    const [first, second] = await due()
    if (first === undefined || second === undefined) throw new Error('too little is due')
    const { decision } = aFailedEntry('x')
    await commitRetries(
      pool,
      {
        ...retriesOf([first, second]),
        decide: ({ due }) =>
          due === first
            ? {
                due,
                decision: { ...decision, outcome: 'SKIP', failureReason: 'event type opted out' },
                status: 'SKIPPED',
                attemptCount: 1,
                address: null,
              }
            : { due, decision, status: 'FAILED', attemptCount: 1, address: null },
      },
      noDelivery,
      quiet,
    )
    const row = async (locator: string) =>
      (await client.query('SELECT * FROM notifications.notification_log WHERE locator = $1', [locator]))
        .rows[0]
    t.match(await row(first.locator), {
      status: 'SKIPPED',
      subject: null,
      body: null,
      attempt_count: 1,
      sent_at: null,
    })
    t.match(await row(second.locator), {
      status: 'FAILED',
      body: second.body,
      attempt_count: 1,
      sent_at: null,
    })
  },
)

t.test('a retry whose sender fails stays FAILED, with the sender’s reason', async (t) => {
  const [entry] = await due()
  if (entry === undefined) throw new Error('nothing is due')
  const { send } = recordingSend(() => ({ receipt: null, error: 'mailbox on fire' }))
  t.match(await commitRetries(pool, retriesOf([entry]), send, quiet), [{ status: 'FAILED' }])
  const { rows } = await client.query(
    `SELECT status, failure_reason, attempt_count, sent_at, send_error
     FROM notifications.notification_log JOIN notifications.decision USING (locator)
     WHERE locator = $1 AND attempt = 1`,
    [entry.locator],
  )
  const error = 'mailbox on fire'
  t.same(rows, [
    { status: 'FAILED', failure_reason: error, attempt_count: 1, sent_at: null, send_error: error },
  ])
})

t.test('two replicas that retry the same rows at once send each once', async (t) => {
  const entries = await due()
  const { sent, send } = recordingSend()
  const made = await Promise.all([
    commitRetries(pool, retriesOf(entries), send, quiet),
    commitRetries(pool, retriesOf(entries), send, quiet),
  ])
  t.equal(made.flat().length, 3)
  t.same(sent.sort(), ['a', 'b', 'c'])
})

t.test('a row that changed since it was read is left alone', async (t) => {
  const entries = await due()
  await client.query('UPDATE notifications.notification_log SET attempt_count = 1')
  t.same(await commitRetries(pool, retriesOf(entries), noDelivery, quiet), [])
})

t.test('a row that no decision explains is left alone, and the others are retried', async (t) => {
  const entries = await due()
  await client.query(`DELETE FROM notifications.decision WHERE event_id = 'b'`)
  const { sent, send } = recordingSend()
  const made = await commitRetries(pool, retriesOf(entries), send, quiet)
  t.same(ids(made.map(({ due }) => due)), ['a', 'c'])
  t.same(sent.sort(), ['a', 'c'])
  const { rows } = await client.query(
    `SELECT status, attempt_count FROM notifications.notification_log WHERE event_id = 'b'`,
  )
  t.same(rows, [{ status: 'FAILED', attempt_count: 0 }])
})

/** A decision that is there already refuses the row's next attempt: only when that is recorded, and not at the update. */
async function refuseRetryOf(eventId: string): Promise<void> {
  await client.query(
    `INSERT INTO notifications.decision
     SELECT (jsonb_populate_record(decision, '{"attempt": 1}')).* FROM notifications.decision WHERE event_id = $1`,
    [eventId],
  )
}

t.test('a row that the database refuses stays as it is, is reported, and holds no other row', async (t) => {
  await refuseRetryOf('b')
  const entries = await due()
  const refused = entries.find(({ eventId }) => eventId === 'b')
  const reports: { fields: object; message: string }[] = []
  const { sent, send } = recordingSend()
  const log = { error: (fields: object, message: string) => reports.push({ fields, message }) }
  const made = await commitRetries(pool, retriesOf(entries), send, log)

  t.same(ids(made.map(({ due }) => due)), ['a', 'c'])
  t.same(sent.sort(), ['a', 'c'], 'the others are sent, each once')
  const { rows } = await client.query(
    'SELECT event_id, status, attempt_count FROM notifications.notification_log ORDER BY event_id',
  )
  t.same(rows, [
    { event_id: 'a', status: 'SENT', attempt_count: 1 },
    { event_id: 'b', status: 'FAILED', attempt_count: 0 },
    { event_id: 'c', status: 'SENT', attempt_count: 1 },
  ])
  t.match(reports, [
    { fields: { locator: refused?.locator, error: /unique/ }, message: /^the database refused the retry/ },
  ])
  t.equal(reports.length, 1)
})

t.test('where the database refuses every row, nothing is sent', async (t) => {
  const entries = await due()
  for (const { eventId } of entries) await refuseRetryOf(eventId)
  const send = async () => {
    t.fail('the senders were called')
    return new Map()
  }
  const locators: string[] = []
  const log = { error: ({ locator }: { locator: string }) => locators.push(locator) }
  t.same(await commitRetries(pool, retriesOf(entries), send, log), [])
  t.same(locators.sort(), entries.map(({ locator }) => locator).sort())
  t.same(ids(await due()), ['a', 'b', 'c'])
})

t.test('a schema that refuses every retry is found before anything is sent, and thrown', async (t) => {
  await client.query('ALTER TABLE notifications.decision ADD CONSTRAINT trap CHECK (attempt = 0)')
  t.teardown(() => client.query('ALTER TABLE notifications.decision DROP CONSTRAINT trap'))
  let callCount = 0
  const send = async () => {
    callCount++
    return new Map()
  }
  await t.rejects(commitRetries(pool, retriesOf(await due()), send, quiet), /violates check constraint/)
  t.equal(callCount, 0)
  t.same(ids(await due()), ['a', 'b', 'c'])
})

t.test('every other error is thrown, and nothing is tried again', async (t) => {
  let callCount = 0
  const send = async () => {
    callCount++
    throw new Error('out of order')
  }
  await t.rejects(commitRetries(pool, retriesOf(await due()), send, quiet), /out of order/)
  t.equal(callCount, 1)
  t.same(ids(await due()), ['a', 'b', 'c'])
})

const REQUEST = { by: 'alice', because: 'an outage' }
const variables = { eventType: 'claim.paid', locator: 'CLM-1', reason: null }

/** Skipped rows, each with a text rendered anew. */
async function skippedRows(): Promise<readonly DueEntry[]> {
  const entries = await due()
  await client.query(`
    UPDATE notifications.notification_log
    SET status = 'SKIPPED', subject = NULL, body = NULL, last_attempt_at = NULL`)
  return entries.map((entry) => ({
    ...entry,
    subject: 'New',
    body: 'New text',
    rendered: { variables, templateRevision: 'template-2' },
  }))
}

t.test('a skipped row is retried on request: it gets a text, and the decision says who asked', async (t) => {
  const [entry, ...others] = await skippedRows()
  if (entry === undefined) throw new Error('nothing is there')
  const failed = others.map(({ rendered: _, ...other }) => other)
  t.same(await commitRetries(pool, retriesOf(failed), noDelivery, quiet), [], 'none of them is FAILED')
  const made = await commitRetries(pool, { ...retriesOf([entry]), request: REQUEST }, noDelivery, quiet)
  t.equal(made.length, 1)
  const { rows } = await client.query('SELECT * FROM notifications.notification_log WHERE locator = $1', [
    entry.locator,
  ])
  t.match(rows, [{ status: 'SENT', subject: 'New', body: 'New text', attempt_count: 1 }])
  const decisions = await client.query(
    'SELECT * FROM notifications.decision WHERE locator = $1 AND attempt = 1',
    [entry.locator],
  )
  t.match(decisions.rows, [
    { retried_by: 'alice', retried_because: 'an outage', variables, template_revision: 'template-2' },
  ])
  t.same(
    await commitRetries(pool, { ...retriesOf([entry]), request: REQUEST }, noDelivery, quiet),
    [],
    'once it is sent it is left alone',
  )
})

t.test('what is erased while it is asked about is not retried on request', async (t) => {
  const [entry] = await skippedRows()
  if (entry === undefined) throw new Error('nothing is there')
  const erasure = await beginErasure(pool, 'party-1', 'bob')
  t.teardown(() => client.query('TRUNCATE notifications.erasure'))
  const request = { ...retriesOf([entry]), request: REQUEST }
  t.same(await commitRetries(pool, request, noDelivery, quiet), [], 'its party is being erased')
  await eraseEntries(pool, erasure, [entry.locator])
  await client.query('TRUNCATE notifications.erasure')
  t.same(await commitRetries(pool, request, noDelivery, quiet), [], 'its decision is erased')
})

t.test('an erasure waits for a retry on request, and blanks what that wrote', async (t) => {
  const [entry] = await skippedRows()
  if (entry === undefined) throw new Error('nothing is there')
  const erasure = await beginErasure(pool, 'party-2', 'bob')
  t.teardown(() => client.query('TRUNCATE notifications.erasure'))
  const sending = Promise.withResolvers<void>()
  const sent = Promise.withResolvers<Deliveries>()
  const send = () => {
    sending.resolve()
    return sent.promise
  }
  const retried = commitRetries(pool, { ...retriesOf([entry]), request: REQUEST }, send, quiet)
  await sending.promise
  const erased = eraseEntries(pool, erasure, [entry.locator])
  const isWaiting = async () => (await client.query(ADVISORY_LOCK_WAITS)).rowCount === 1
  await until(isWaiting, { what: 'the erasure to wait' })
  sent.resolve(new Map())
  t.equal((await retried).length, 1)
  await erased
  const { rows } = await client.query(
    `SELECT body, (
       SELECT count(*)::int FROM notifications.decision AS decision
       WHERE decision.locator = entry.locator AND erased_at IS NULL
     ) AS "left" FROM notifications.notification_log AS entry WHERE locator = $1`,
    [entry.locator],
  )
  t.same(rows, [{ body: null, left: 0 }])
})
