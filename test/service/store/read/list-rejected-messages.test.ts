import t from 'tap'
import { getRequest } from '../../../../src/operations/requests/list-requests.ts'
import type { RejectedPage } from '../../../../src/service/decide/event/rejected-message.ts'
import {
  ALL_REJECTED,
  listRejected,
  readRejectedPage,
} from '../../../../src/service/store/read/list-rejected-messages.ts'
import { ERASURE_LOCK } from '../../../../src/service/store/sql/advisory-locks.ts'
import { dismissPage } from '../../../../src/service/store/write/dismiss-page.ts'
import { addRequest, releaseRequest, takeRequest } from '../../../../src/service/store/write/request-row.ts'
import { ADVISORY_LOCK_WAITS } from '../../../stack/databases.ts'
import { until } from '../../../stack/until.ts'
import { openDatabase } from '../fixtures.ts'

const offsetsOf = (items: readonly { readonly offset: bigint }[]) => items.map(({ offset }) => offset)
t.test('rejected messages are listed newest first, in pages, with their first bytes', async (t) => {
  const { pool, client } = await openDatabase(t)
  await client.query(`
    INSERT INTO notifications.rejected_message (topic, partition_id, "offset", value, headers, code, error)
    SELECT
      CASE WHEN n % 2 = 0 THEN 'claims' ELSE 'billing' END, 0, n,
      CASE n WHEN 1 THEN NULL WHEN 2 THEN repeat('x', 1000)::bytea ELSE 'short' END, '{}', 'not-json', 'no JSON'
    FROM generate_series(1, 7) n`)
  const first = await listRejected(pool, ALL_REJECTED, { limit: 3, after: null })
  t.strictSame(offsetsOf(first.items), [7n, 6n, 5n])
  const second = await listRejected(pool, ALL_REJECTED, { limit: 3, after: first.next })
  const third = await listRejected(pool, ALL_REJECTED, { limit: 3, after: second.next })
  t.strictSame(offsetsOf([...second.items, ...third.items]), [4n, 3n, 2n, 1n])
  t.equal(third.next, null)
  const [long, none] = [...second.items, ...third.items].slice(-2)
  t.match(long, { byteCount: 1_000 })
  t.equal(Buffer.from(long?.begin ?? []).toString(), 'x'.repeat(256))
  t.match(none, { byteCount: null, begin: null, redriven: null })
  const claims = await listRejected(pool, { ...ALL_REJECTED, topic: 'claims' }, { limit: 50, after: null })
  t.strictSame(offsetsOf(claims.items), [6n, 4n, 2n])
})

t.test('each rejected message has the result of its last redrive', async (t) => {
  const { pool, client } = await openDatabase(t)
  await client.query(`
    INSERT INTO notifications.rejected_message (topic, partition_id, "offset", headers, code, error)
    SELECT 'claims', 0, n, '{}', 'empty', 'empty' FROM generate_series(1, 2) n`)
  await client.query(`
    INSERT INTO notifications.redrive (rejected_message_id, redriven_by, result, code, error)
    SELECT id, 'a clerk', 'rejected', 'empty', 'empty' FROM notifications.rejected_message`)
  await client.query(`
    INSERT INTO notifications.redrive (rejected_message_id, redriven_by, result)
    SELECT min(id), 'a clerk', 'duplicate' FROM notifications.rejected_message`)
  const { items } = await listRejected(pool, ALL_REJECTED, { limit: 50, after: null })
  t.strictSame(
    items.map(({ redriven }) => redriven?.result.result),
    ['rejected', 'duplicate'],
  )
  const open = await listRejected(pool, { ...ALL_REJECTED, open: true }, { limit: 50, after: null })
  t.strictSame(offsetsOf(open.items), [2n])
})

t.test('a page of open messages ends after so many settled ones, and the next goes on', async (t) => {
  const { pool, client } = await openDatabase(t)
  await client.query(`
    INSERT INTO notifications.rejected_message (topic, partition_id, "offset", headers, code, error)
    SELECT 'claims', 0, n, '{}', 'empty', 'empty' FROM generate_series(1, 25000) n`)
  await client.query(`
    INSERT INTO notifications.redrive (rejected_message_id, redriven_by, result, error)
    SELECT id, 'a clerk', 'dismissed', 'a test' FROM notifications.rejected_message WHERE "offset" > 1`)
  const found: bigint[][] = []
  for (let after: bigint | null = null; ; ) {
    const { items, next } = await listRejected(pool, { ...ALL_REJECTED, open: true }, { limit: 50, after })
    found.push(offsetsOf(items))
    if (next === null) break
    after = next
  }
  t.strictSame(found, [[], [], [1n]])

  await client.query(`
    DELETE FROM notifications.redrive WHERE rejected_message_id = (SELECT max(id) FROM notifications.rejected_message)`)
  const read: bigint[][] = []
  for (let after: bigint | null = 0n; after !== null; ) {
    const { messages, next }: RejectedPage = await readRejectedPage(
      pool,
      { ...ALL_REJECTED, open: true },
      after,
      50,
    )
    read.push(messages.map(({ message }) => message.offset))
    after = next
  }
  t.strictSame(read, [[1n], [], [], [25_000n], []], 'in the other direction, too')
})

t.test('a dismissal goes on over settled messages, a page each', async (t) => {
  const { pool, client } = await openDatabase(t)
  await client.query(`
    INSERT INTO notifications.rejected_message (topic, partition_id, "offset", headers, code, error)
    SELECT 'claims', 0, n, '{}', 'empty', 'empty' FROM generate_series(1, 15000) n`)
  await client.query(`
    INSERT INTO notifications.redrive (rejected_message_id, redriven_by, result, error)
    SELECT id, 'a clerk', 'dismissed', 'a test' FROM notifications.rejected_message WHERE "offset" < 15000`)
  const id = await addRequest(
    pool,
    { kind: 'dismiss', target: { filter: { upTo: '9'.repeat(18) } } },
    'alice',
    'junk',
  )
  const ends: (string | null)[] = []
  for (
    let taken = await takeRequest(pool, [], false);
    taken !== null;
    taken = await takeRequest(pool, [], false)
  ) {
    if (taken.kind === 'dismiss') await dismissPage(pool, taken)
    await releaseRequest(pool, taken.id)
    ends.push((await getRequest(pool, id))?.endedAt ?? null)
  }
  t.match(ends, [null, String])
  t.match(await getRequest(pool, id), { state: 'done', counts: { dismissed: 1 } })
})

t.test('a message that is redriven or dismissed meanwhile is not dismissed', async (t) => {
  const { pool, client } = await openDatabase(t)
  await client.query(`
    INSERT INTO notifications.rejected_message (topic, partition_id, "offset", headers, code, error)
    VALUES ('claims', 0, 1, '{}', 'empty', 'empty')`)
  const target = { filter: { upTo: '9'.repeat(18) } }
  const id = await addRequest(pool, { kind: 'dismiss', target }, 'alice', 'junk')
  const taken = await takeRequest(pool, [], false)
  await client.query('BEGIN')
  t.teardown(() => client.query('ROLLBACK'))
  await client.query('SELECT pg_advisory_xact_lock_shared($1)', [ERASURE_LOCK])
  await client.query(`
    INSERT INTO notifications.redrive (rejected_message_id, redriven_by, result)
    SELECT id, 'bob', 'duplicate' FROM notifications.rejected_message`)
  const dismissed = taken?.kind === 'dismiss' ? dismissPage(pool, taken) : null
  await until(async () => (await client.query(ADVISORY_LOCK_WAITS)).rowCount === 1, { what: 'it to wait' })
  await client.query('COMMIT')
  await dismissed
  t.match(await getRequest(pool, id), { state: 'done', counts: {} })
  t.equal((await client.query('SELECT FROM notifications.redrive')).rowCount, 1)
})
