import t, { type Test } from 'tap'
import { commitBatch } from '../../../../src/service/attempt/commit-batch.ts'
import { commitRetries } from '../../../../src/service/attempt/retry.ts'
import type { FirstAttempt } from '../../../../src/service/decide/attempt/attempt.ts'
import type { Delivery } from '../../../../src/service/decide/attempt/delivery.ts'
import { isWorthRestart, refusesData } from '../../../../src/service/store/connection/errors.ts'
import { type DatabasePool, openPool } from '../../../../src/service/store/connection/pool.ts'
import { findRows } from '../../../../src/service/store/read/find-rows.ts'
import { listDueEntries } from '../../../../src/service/store/read/list-due-entries.ts'
import { ensureCheckpoint } from '../../../../src/service/store/write/checkpoints.ts'
import { createStore } from '../../../../src/service/store/write/postgres-store.ts'
import { aLookedUpBatch, aMaker } from '../../attempt/build.ts'
import { anOpenAttempt, FOUND, recordingSend, UNRESOLVED } from '../../decide/attempt/build.ts'
import { openDatabase } from '../fixtures.ts'

const { url, pool, client } = await openDatabase(t)
const ACCEPTED: Delivery = { receipt: 'r', error: null }
const LIMITS = { maxAgeMs: 3_600_000, attemptCountMax: 100, minPauseMs: -3_600_000 }

/** A trigger's function, which raises an error for the row of the event `bad`. */
const raise = (state: string) => `
  CREATE OR REPLACE FUNCTION notifications.trap() RETURNS trigger LANGUAGE plpgsql AS $$
  BEGIN
    IF NEW.event_id = 'bad' THEN RAISE EXCEPTION 'a trap' USING ERRCODE = '${state}'; END IF;
    RETURN NEW;
  END $$`

t.beforeEach(async () => {
  await client.query(`
    TRUNCATE notifications.notification_log, notifications.decision, notifications.rejected_message,
      notifications.projection_checkpoints`)
  await ensureCheckpoint(pool, 'claims', 0)
})

/** Twenty events, one of them `bad`; the senders accept the messages of the others, and of that one as told. */
async function dispatched(
  of: DatabasePool = pool,
  { ofBad = {}, answer = ACCEPTED }: { ofBad?: Partial<FirstAttempt>; answer?: Delivery } = {},
) {
  const { send, keys } = recordingSend((eventId) => (eventId === 'bad' ? answer : ACCEPTED))
  const open = Array.from({ length: 20 }, (_, i) =>
    i === 13 ? anOpenAttempt('bad', ofBad) : anOpenAttempt(`event-${i}`),
  )
  const maker = aMaker(createStore(of), send)
  const result = await commitBatch(maker, aLookedUpBatch(open)).catch((error: Error) => error.message)
  const { rowCount } = await client.query('SELECT FROM notifications.notification_log')
  const { rows } = await client.query('SELECT error FROM notifications.rejected_message')
  return { result, rowCount, rejected: rows.map(({ error }) => error), keys }
}

function isRejectedAlone(
  t: Test,
  { result, rowCount, rejected, keys }: Awaited<ReturnType<typeof dispatched>>,
) {
  t.match(result, { kind: 'committed', inserted: { length: 19 }, rejected: { length: 1 } })
  t.equal(rowCount, 19)
  t.match(rejected, [/^the database refuses the row: (a trap|new row violates|.* discards the row)/])
  t.notOk(keys.includes('bad/1'))
}

/** A trigger that runs `does` for the rows for which `condition` holds. */
async function withTrigger(
  t: Test,
  event: string,
  {
    table = 'notification_log',
    condition = `NEW.event_id = 'bad'`,
    does = `RAISE EXCEPTION 'a trap'`,
  }: { table?: string; condition?: string; does?: string } = {},
) {
  await client.query(`
    CREATE OR REPLACE FUNCTION notifications.trap() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      IF ${condition} THEN ${does}; END IF;
      RETURN NEW;
    END $$;
    CREATE TRIGGER trap BEFORE ${event} ON notifications.${table}
    FOR EACH ROW EXECUTE FUNCTION notifications.trap()`)
  t.teardown(() => client.query(`DROP TRIGGER trap ON notifications.${table}`))
}

t.test('an error that answers one row rejects it alone, whatever its SQLSTATE', async (t) => {
  await withTrigger(t, 'INSERT')
  // The default of RAISE, rights, a view's check, what an author of a trigger may choose, and what looks like an error of Node.
  for (const state of ['P0001', '42501', '44000', '22023', '54000', '0A000', '55000', 'U0001', 'EPIPE']) {
    await client.query(raise(state))
    await t.test(state, async (t) => isRejectedAlone(t, await dispatched()))
  }
})

t.test('a deferred trigger, which answers at COMMIT, rejects its row alone', async (t) => {
  await client.query(raise('P0001'))
  await client.query(`
    CREATE CONSTRAINT TRIGGER trap AFTER INSERT ON notifications.notification_log
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION notifications.trap()`)
  t.teardown(() => client.query('DROP TRIGGER trap ON notifications.notification_log'))
  const { result, rowCount, rejected, keys } = await dispatched()
  t.match(result, { kind: 'committed', inserted: { length: 19 }, rejected: { length: 1 } })
  t.equal(rowCount, 19)
  t.match(rejected, ['the database refuses the row: a trap'])
  t.equal(keys.filter((key) => key === 'bad/1').length, 1, 'sent once, before the first COMMIT')
})

t.test('an error that answers no row rejects nothing, and writes nothing', async (t) => {
  await withTrigger(t, 'INSERT')
  for (const state of [
    '08006',
    '25006',
    '40001',
    '53100',
    '55P03',
    '57014',
    '58030',
    'XX000',
    '26000',
    '42P18',
  ]) {
    await client.query(raise(state))
    t.match(await dispatched(), { result: 'a trap', rowCount: 0, rejected: [], keys: [] }, state)
  }
})

t.test('an error of the network is not one of a row', (t) => {
  t.notOk(refusesData(Object.assign(new Error('write EPIPE'), { code: 'EPIPE' })))
  t.end()
})

t.test('row-level security refuses a row alone; a missing right refuses none', async (t) => {
  const role = `service_${process.pid}`
  await client.query(`
    CREATE ROLE ${role} LOGIN;
    GRANT USAGE ON SCHEMA notifications TO ${role};
    GRANT SELECT, INSERT, UPDATE ON ALL TABLES IN SCHEMA notifications TO ${role};
    ALTER TABLE notifications.notification_log ENABLE ROW LEVEL SECURITY;
    CREATE POLICY trap ON notifications.notification_log USING (true) WITH CHECK (event_id <> 'bad')`)
  const ofRole = new URL(url)
  ofRole.username = role
  const limited = await openPool({ databaseUrl: ofRole.href, connectionCountMax: 1 })
  t.teardown(async () => {
    await limited.end()
    await client.query(`
      DROP POLICY trap ON notifications.notification_log;
      ALTER TABLE notifications.notification_log DISABLE ROW LEVEL SECURITY;
      DROP OWNED BY ${role};
      DROP ROLE ${role}`)
  })
  isRejectedAlone(t, await dispatched(limited))

  await client.query(`
    TRUNCATE notifications.notification_log, notifications.decision, notifications.rejected_message;
    UPDATE notifications.projection_checkpoints SET "offset" = -1;
    REVOKE INSERT ON notifications.decision FROM ${role}`)
  t.match(await dispatched(limited), { result: /permission denied/, rowCount: 0, rejected: [] })
})

t.test('a missing column refuses every row, and so none', async (t) => {
  await client.query('ALTER TABLE notifications.decision RENAME COLUMN receipt TO gone')
  t.teardown(() => client.query('ALTER TABLE notifications.decision RENAME COLUMN gone TO receipt'))
  t.match(await dispatched(), { result: /receipt/, rowCount: 0, rejected: [] })
})

t.test('a row that a trigger discards without an error is rejected', async (t) => {
  await withTrigger(t, 'INSERT', { does: 'RETURN NULL' })
  isRejectedAlone(t, await dispatched())
})

t.test('a retry whose row a trigger leaves unchanged without an error is not sent again', async (t) => {
  const { send, keys } = recordingSend()
  const maker = aMaker(createStore(pool), send)
  const failed = ['a', 'bad', 'c'].map((eventId) => anOpenAttempt(eventId, { contact: UNRESOLVED }))
  await commitBatch(maker, aLookedUpBatch(failed))
  await withTrigger(t, 'UPDATE', { does: 'RETURN NULL' })
  for (let pass = 1; pass <= 2; pass++) {
    const { due } = await listDueEntries(pool, LIMITS, null, 10)
    const { refused } = await commitRetries(
      maker,
      due.map((entry) => ({ due: entry, contact: FOUND })),
    )
    t.match([...refused.values()], [/discards the row/], `pass ${pass}`)
  }
  t.equal(keys.filter((key) => key === 'bad/1').length, 1, 'sent once, before the row was found')
})

t.test('what is refused only after the send is found before the next send', async (t) => {
  const isFoundAfterOneSend = ({ rejected, keys }: Awaited<ReturnType<typeof dispatched>>) => {
    t.equal(rejected.length, 1)
    t.equal(keys.filter((key) => key === 'bad/1').length, 1)
  }
  await t.test('a row whose message was not accepted', async (t) => {
    await withTrigger(t, 'UPDATE')
    isFoundAfterOneSend(await dispatched(pool, { answer: { receipt: null, error: 'no such address' } }))
  })
  await t.test('a receipt', async (t) => {
    await withTrigger(t, 'INSERT', {
      table: 'decision',
      condition: `NEW.event_id = 'bad' AND NEW.receipt IS NOT NULL`,
    })
    isFoundAfterOneSend(await dispatched())
  })
})

t.test('a move of the checkpoint that a trigger refuses rejects nothing, and sends once', async (t) => {
  await withTrigger(t, 'UPDATE', { table: 'projection_checkpoints', condition: 'true' })
  const { result, rowCount, rejected, keys } = await dispatched()
  t.strictSame({ result, rowCount, rejected }, { result: 'a trap', rowCount: 0, rejected: [] })
  t.equal(keys.length, 20)
})

t.test('a trigger that demands a party rejects the row without one', async (t) => {
  await withTrigger(t, 'INSERT', { condition: 'NEW.party_locator IS NULL' })
  isRejectedAlone(t, await dispatched(pool, { ofBad: { partyLocator: null, contact: undefined } }))
})

t.test('a plan that was made before a column got another type rejects nothing', async (t) => {
  const { send } = recordingSend()
  const store = createStore(pool)
  const open = ['a', 'b'].map((eventId) => anOpenAttempt(eventId))
  const batch = aLookedUpBatch(open)
  await commitBatch(aMaker(store, send), batch)
  // Each connection has the plan that reads the rows of duplicates.
  const connections = Array.from({ length: 3 }, () => Promise.withResolvers<void>())
  const all = Promise.all(connections.map(({ promise }) => promise))
  const prepare = ({ resolve }: PromiseWithResolvers<void>) =>
    pool.connect(async (connection) => {
      await findRows(connection, ['a'])
      resolve()
      await all
    })
  await Promise.all(connections.map(prepare))
  const setType = (type: string) =>
    client.query(`ALTER TABLE notifications.notification_log ALTER COLUMN event_id TYPE ${type} COLLATE "C"`)
  await setType('varchar(300)')
  t.teardown(() => setType('text'))

  const duplicates = open.map((attempt) => ({ ...attempt, locator: `${attempt.locator}-again` }))
  const again = aLookedUpBatch(duplicates, { expectedCheckpoint: batch.batch.lastOffset })
  for (let restarts = 0; ; restarts++) {
    const result = await commitBatch(aMaker(store, send), again).catch((error: Error) => error)
    if (!(result instanceof Error)) {
      t.match(result, { kind: 'committed', inserted: { length: 0 }, rejected: { length: 0 } })
      t.ok(restarts > 0, 'there were such plans')
      return
    }
    t.ok(isWorthRestart(result), result.message)
  }
})
