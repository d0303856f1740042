import { randomBytes } from 'node:crypto'
import t from 'tap'
import {
  entriesOfNobody,
  eraseEntries,
  findEntries,
  pageOfNobodyQuery,
} from '../../../src/operations/erase/erase-entries.ts'
import { countPreferencesToErase, erasePreferences } from '../../../src/operations/erase/erase-preferences.ts'
import { eraseRejected } from '../../../src/operations/erase/erase-rejected-messages.ts'
import { beginErasure } from '../../../src/operations/erase/erasure-record.ts'
import { createSearch } from '../../../src/operations/erase/find-mention.ts'
import { restoreMissingEntries } from '../../../src/operations/replay/restore-missing-entries.ts'
import type { NewPreferences } from '../../../src/service/decide/party/preferences.ts'
import { getPreferences } from '../../../src/service/store/read/read-preferences.ts'
import { ERASURE_LOCK } from '../../../src/service/store/sql/advisory-locks.ts'
import { insertRejectedMessages } from '../../../src/service/store/write/insert-rejected-messages.ts'
import { lockRejected } from '../../../src/service/store/write/lock-rejected.ts'
import { putPreferences } from '../../../src/service/store/write/put-preferences.ts'
import { aMessage } from '../../service/build.ts'
import { openDatabase } from '../../service/store/fixtures.ts'
import { record, replayAll, UNRESOLVED } from '../../service/store/record.ts'
import { ADVISORY_LOCK_WAITS } from '../../stack/databases.ts'
import { until } from '../../stack/until.ts'

const { pool, client } = await openDatabase(t)
const rowsOf = async (query: string, values?: unknown[]) => (await client.query(query, values)).rows

/** `meanwhile` runs once the first page is read. */
async function erase(party: string, meanwhile = async () => {}, wanted: readonly string[] = []) {
  const erasure = await beginErasure(pool, party, 'tester')
  const sum = { logEntries: 0, retries: 0 }
  const listed: string[] = []
  for await (const { locators, longer } of findEntries(pool, createSearch(party, [], wanted), () => {})) {
    listed.push(...longer)
    if (sum.logEntries === 0) await meanwhile()
    const counts = await eraseEntries(pool, erasure, locators)
    sum.logEntries += counts.logEntries
    sum.retries += counts.retries
  }
  return { erasure, listed, ...sum }
}

const verify = async (rebuild = false) => (await replayAll(pool, { rebuild })).findings

const statuses = () =>
  rowsOf(
    'SELECT event_id, status, body IS NULL AS blank FROM notifications.notification_log ORDER BY event_id',
  )

const statusesWithText = async () => (await statuses()).filter(({ blank }) => !blank)

t.beforeEach(async () => {
  await client.query(`
    TRUNCATE notifications.notification_log, notifications.decision, notifications.projection_checkpoints,
      notifications.erasure, notifications.rejected_message, notifications.preference_change,
      notifications.notification_preferences`)
  await record(pool, [
    { eventId: 'sent', eventType: 'claim.rejected', reason: 'a secret' },
    { eventId: 'failed', contact: UNRESOLVED },
    { eventId: 'refused', sendError: 'no mailbox member@example.com' },
    { eventId: 'skipped', contact: { state: 'not found' } },
    { eventId: 'other', partyLocator: 'party-10' },
  ])
})

t.test('an erasure blanks the rows and decisions of a party, and nothing of another', async (t) => {
  const { erasure, listed: _, ...counts } = await erase('party-1')
  t.strictSame(counts, { logEntries: 4, retries: 2 })
  t.strictSame(await statuses(), [
    { event_id: 'failed', status: 'SKIPPED', blank: true },
    { event_id: 'other', status: 'SENT', blank: false },
    { event_id: 'refused', status: 'SKIPPED', blank: true },
    { event_id: 'sent', status: 'SENT', blank: true },
    { event_id: 'skipped', status: 'SKIPPED', blank: true },
  ])
  const decisions = await rowsOf('SELECT decision::text FROM notifications.decision ORDER BY event_id')
  t.equal(decisions.length, 5, 'every decision stays')
  t.notMatch(JSON.stringify(decisions), /a secret|no mailbox/)
  t.strictSame(
    await rowsOf(
      `SELECT DISTINCT event_id, receipt FROM notifications.decision WHERE receipt IS NOT NULL ORDER BY 1`,
    ),
    [
      { event_id: 'other', receipt: 'recorded' },
      { event_id: 'sent', receipt: 'erased' },
    ],
  )
  t.match(
    await rowsOf(`SELECT failure_reason FROM notifications.notification_log WHERE event_id = 'failed'`),
    [{ failure_reason: 'erased before it was sent' }],
  )
  t.match(await rowsOf('SELECT * FROM notifications.erasure WHERE id = $1', [erasure]), [
    { party_locator: 'party-1', erased_by: 'tester', log_entries: 4, retries: 2, finished_at: null },
  ])
})

const MOVES = [
  {
    what: 'a retry on request sends meanwhile',
    others: {},
    before: `SET channel = channel WHERE false`,
    meanwhile: `SET status = 'SENT', failure_reason = NULL, sent_at = now(), attempt_count = 1, subject = '', body = ''
      WHERE event_id = 'skipped'`,
  },
  {
    what: 'a retry moves to another channel meanwhile',
    others: { contact: UNRESOLVED },
    before: `SET channel = 'SMS' WHERE event_id = 'failed'`,
    meanwhile: `SET channel = 'EMAIL' WHERE event_id = 'failed'`,
  },
]
for (const { what, others, before, meanwhile } of MOVES) {
  t.test(`an erasure in several pages reaches a row that ${what}`, async (t) => {
    await client.query(`UPDATE notifications.notification_log ${before}`)
    await record(
      pool,
      Array.from({ length: 600 }, (_, i) => ({ eventId: `more-${i}`, ...others })),
    )
    await erase('party-1', async () => {
      await client.query(`UPDATE notifications.notification_log ${meanwhile}`)
    })
    t.strictSame(await statusesWithText(), [{ event_id: 'other', status: 'SENT', blank: false }])
  })
}

t.test('an erasure reaches the last of 5,001 rows', async (t) => {
  await client.query(`
    INSERT INTO notifications.notification_log (
      locator, event_id, party_locator, event_type, channel, status, subject, body, attempt_count, sent_at
    )
    SELECT 'NTF-' || n, n, 'party-many', 'claim.paid', 'EMAIL', 'SENT', 'Your claim', 'It is paid.', 1, now()
    FROM generate_series(1, 5001) AS n`)
  t.match(await erase('party-many'), { logEntries: 5_001 })
})

t.test('an erasure reaches a row that is restored meanwhile', async (t) => {
  const [{ locator }] = await rowsOf(`SELECT locator FROM notifications.decision WHERE event_id = 'skipped'`)
  await client.query(`DELETE FROM notifications.notification_log WHERE locator = $1`, [locator])
  await erase('party-1', async () => void (await verify(true)))
  t.strictSame(
    await rowsOf(
      `SELECT count(*)::int AS left FROM notifications.decision WHERE party_locator = 'party-1' AND erased_at IS NULL`,
    ),
    [{ left: 0 }],
  )
})

t.test('replay counts erased entries, and restores none of their texts', async (t) => {
  await erase('party-1')
  t.strictSame(await verify(), [
    { kind: 'summary', entries: 5, erased: 4, differences: 0, restored: 0, left: 0 },
  ])
  const before = await rowsOf(
    'SELECT entry::text FROM notifications.notification_log AS entry ORDER BY locator',
  )
  await client.query(`DELETE FROM notifications.notification_log WHERE event_id <> 'skipped'`)
  t.match((await verify(true)).at(-1), { erased: 4, restored: 4, left: 0 })
  t.strictSame(
    await rowsOf('SELECT entry::text FROM notifications.notification_log AS entry ORDER BY locator'),
    before,
  )
})

t.test('erasures and restores take turns', async (t) => {
  const erasure = await beginErasure(pool, 'party-1', 'tester')
  const [{ locator }] = await rowsOf(`SELECT locator FROM notifications.decision WHERE event_id = 'sent'`)
  await client.query('BEGIN')
  await client.query('SELECT pg_advisory_xact_lock($1)', [ERASURE_LOCK])
  const both = Promise.all([
    restoreMissingEntries(pool, [locator], { findTemplate: () => undefined }),
    eraseEntries(pool, erasure, [locator]),
  ])
  await until(async () => (await rowsOf(ADVISORY_LOCK_WAITS)).length === 2, {
    what: 'both to wait',
    timeoutMs: 20_000,
  })
  await client.query('COMMIT')
  t.match((await both)[1], { logEntries: 1 })
})

t.test('an erasure and a redrive that cannot get their lock in time say what holds it', async (t) => {
  const erasure = await beginErasure(pool, 'party-1', 'tester')
  await client.query('BEGIN')
  await client.query('SELECT pg_advisory_xact_lock($1)', [ERASURE_LOCK])
  t.teardown(() => client.query('ROLLBACK'))
  await Promise.all([
    t.rejects(eraseEntries(pool, erasure, []), {
      message:
        'the service is carrying out a request, or another `erase`, `prune` or `replay --rebuild` is running: run this again',
    }),
    t.rejects(
      pool.transaction((tx) => lockRejected(tx, 1n)),
      { message: 'an `erase`, a `prune`, a `replay --rebuild` or a dismissal is running' },
    ),
  ])
})

t.test('decisions without a row are erased too', async (t) => {
  await client.query('DELETE FROM notifications.notification_log')
  t.match(await erase('party-1'), { logEntries: 4, retries: 0 })
  await verify(true)
  t.match(await statusesWithText(), [{ event_id: 'other' }])
})

t.test('the reason of a retry without a request is blanked with the decision', async (t) => {
  // As version 1.0.0 stored them. The reason of a request is erased with the request.
  await client.query(`
    UPDATE notifications.decision SET retried_by = 'o', retried_because = 'party-1 called',
      request_id = CASE event_id WHEN 'skipped' THEN 1 END
    WHERE event_id <> 'refused'`)
  await erase('party-1')
  const reasons = await rowsOf(
    'SELECT event_id AS id, retried_by AS by, retried_because AS because FROM notifications.decision ORDER BY 1',
  )
  t.strictSame(reasons, [
    { id: 'failed', by: 'o', because: 'erased' },
    { id: 'other', by: 'o', because: 'party-1 called' },
    { id: 'refused', by: null, because: null },
    { id: 'sent', by: 'o', because: 'erased' },
    { id: 'skipped', by: 'o', because: 'party-1 called' },
  ])
})

t.test('a row without a decision is blanked too', async (t) => {
  await client.query('DELETE FROM notifications.decision')
  t.match(await erase('party-1'), { logEntries: 3, retries: 2 })
  t.strictSame((await statusesWithText()).length, 1)
  t.match(await erase('party-1'), { logEntries: 0 })
})

t.test('contacts are blanked with their history, and opt-outs stay in force', async (t) => {
  const stored: NewPreferences = {
    email: 'a@example.com',
    phone: '+44',
    preferredChannel: 'SMS',
    optedOutEvents: ['claim.paid'],
  }
  await putPreferences(pool, 'party-1', { ...stored, email: 'old@example.com' }, 'subject')
  await putPreferences(pool, 'party-1', stored, 'subject')
  await putPreferences(pool, 'party-10', stored, 'subject')
  const { erasure } = await erase('party-1')
  t.strictSame(await erasePreferences(pool, erasure, 'party-1'), { preferences: 1, preferenceChanges: 2 })
  t.strictSame(await getPreferences(pool, 'party-1'), { ...stored, email: null, phone: null })
  t.strictSame(await getPreferences(pool, 'party-10'), stored)
  const changes = await rowsOf(
    `SELECT before, after, changed_by FROM notifications.preference_change WHERE party_locator = 'party-1' ORDER BY id`,
  )
  const blank = { ...stored, email: null, phone: null }
  t.strictSame(changes, [
    { before: null, after: blank, changed_by: 'subject' },
    { before: blank, after: blank, changed_by: 'subject' },
  ])
  t.strictSame(await erasePreferences(pool, erasure, 'party-1'), { preferences: 0, preferenceChanges: 0 })
})

t.test(
  'an entry of nobody that is of the person is erased, and one whose text names it is listed',
  async (t) => {
    const nobody = { eventType: 'claim.rejected', partyLocator: null }
    const [, listed, unclear, , gone, ofOther] = await record(pool, [
      { eventId: 'hers', ...nobody, reason: 'party-1' },
      { eventId: 'telling', ...nobody, reason: 'a secret\nparty-1 told us' },
      { eventId: 'of another', ...nobody, reason: 'a secret of party-10, party-1-2' },
      { eventId: 'of party 10', ...nobody, reason: 'a secret of party-10' },
      { eventId: 'without a row', ...nobody, reason: 'party-1' },
      { eventId: 'read again', ...nobody, reason: 'party-1' },
    ])
    await client.query('DELETE FROM notifications.notification_log WHERE locator = $1', [gone])
    await client.query(
      `UPDATE notifications.notification_log SET party_locator = 'party-2' WHERE locator = $1`,
      [ofOther],
    )
    t.match(await erase('party-1'), { logEntries: 6, listed: [listed, unclear] })
    t.match(await erase('party-1', undefined, [listed ?? '']), { logEntries: 1, listed: [unclear] })
    const left = await rowsOf(
      `SELECT event_id FROM notifications.decision WHERE party_locator IS NULL AND erased_at IS NULL ORDER BY 1`,
    )
    t.strictSame(left, [{ event_id: 'of another' }, { event_id: 'of party 10' }, { event_id: 'read again' }])
    t.match(await erase('party-1'), { logEntries: 0 })
  },
)

t.test('of nobody, a party is found whatever its locator contains, and on each page', async (t) => {
  const parties = ['a"b\\c', '"', "it's", 'Jane Doe', 'party-\u00e9\u{1f600}', '%', '\\']
  await record(
    pool,
    parties.map((party, i) => ({
      eventId: `of ${i}`,
      eventType: 'claim.rejected',
      partyLocator: null,
      reason: party,
    })),
  )
  for (const party of parties) t.match(await erase(party), { logEntries: 1 }, party)

  await client.query(`
    DELETE FROM notifications.decision WHERE party_locator IS NULL;
    INSERT INTO notifications.decision (locator, attempt, event_id, event_type, outcome, channel, rule_id, reason, facts, variables,
      rule_table_revision, topic, partition_id, "offset")
    SELECT 'NTF-9' || lpad(n::text, 6, '0'), attempt, n, 'e', 'SKIP', 'EMAIL', 'r', 'r', '{}',
      jsonb_build_object('reason', CASE WHEN n >= 5000 THEN 'party-1' END), 'x', 'claims', 0, n
    FROM generate_series(1, 5001) AS n, generate_series(0, 1) AS attempt
    WHERE n >= 5000 OR attempt = 0`)
  const found: string[] = []
  for await (const { locators } of entriesOfNobody(pool, createSearch('party-1', []))) found.push(...locators)
  t.strictSame(found, ['NTF-9005000', 'NTF-9005001'], 'once, also where its attempts are on two pages')
})

t.test('long texts of nobody are read in pages of few, and all are found', async (t) => {
  const random = () => randomBytes(750_000).toString('hex')
  await record(
    pool,
    Array.from({ length: 5 }, (_, i) => ({
      eventId: `long ${i}`,
      eventType: 'claim.rejected',
      partyLocator: null,
      reason: `party-1 ${random()}`,
    })),
  )
  const first = await pool.any(pageOfNobodyQuery('party-1', { locator: '', attempt: 0 }))
  t.ok(first.length > 0 && first.length < 5, `${first.length} texts in memory`)
  t.equal((await erase('party-1')).listed.length, 5)
})

t.test('the author of a change is blanked if it was the person', async (t) => {
  const none: NewPreferences = { email: null, phone: null, preferredChannel: 'SMS', optedOutEvents: [] }
  const paid: NewPreferences = { ...none, optedOutEvents: ['claim.paid'] }
  await putPreferences(pool, 'party-1', none, 'agent')
  await putPreferences(pool, 'party-1', paid, 'member-4711', true)
  await putPreferences(pool, 'party-1', none, 'party-1')
  await putPreferences(pool, 'party-1', paid, null, true)
  await putPreferences(pool, 'party-10', none, 'member-4712', true)
  await putPreferences(pool, 'party-10', paid, 'party-1')
  await putPreferences(pool, 'party-10', none, 'member-4711')
  const { erasure } = await erase('party-1')
  t.strictSame(await countPreferencesToErase(pool, 'party-1'), { preferences: 0, preferenceChanges: 3 })
  t.strictSame(await erasePreferences(pool, erasure, 'party-1'), { preferences: 0, preferenceChanges: 3 })
  const authors = await rowsOf('SELECT changed_by FROM notifications.preference_change ORDER BY id')
  t.strictSame(
    authors.map(({ changed_by }) => changed_by),
    ['agent', 'erased', 'erased', null, 'member-4712', 'erased', 'member-4711'],
    'a subject other than a locator may be that of a program, which acts for many members',
  )
  t.strictSame(await erasePreferences(pool, erasure, 'party-1'), { preferences: 0, preferenceChanges: 0 })
})

t.test('an erased rejected message is not stored again when it is consumed again', async (t) => {
  const message = {
    ...aMessage(7n, 'party-1: not an event'),
    key: Buffer.from('k'),
    headers: { h: [Buffer.from('v')] },
  }
  const keep = () =>
    insertRejectedMessages(pool, { topic: 'claims', partition: 0 }, [
      { message, rejection: { code: 'not-json', error: 'no' } },
    ])
  await keep()
  const [{ id }] = await rowsOf('SELECT id FROM notifications.rejected_message')
  await client.query(
    `INSERT INTO notifications.redrive (rejected_message_id, redriven_by, result, code, error)
     VALUES ($1, 'tester', 'rejected', 'not-json', 'party-1 is not JSON')`,
    [id],
  )
  const { erasure } = await erase('party-1')
  t.equal(await eraseRejected(pool, erasure, [BigInt(id)]), 1)
  t.equal(await eraseRejected(pool, erasure, [BigInt(id)]), 0)
  await keep()
  const kept = await rowsOf('SELECT * FROM notifications.rejected_message')
  t.equal(kept.length, 1)
  t.match(kept, [
    { id, key: null, value: null, headers: {}, code: 'not-json', error: 'erased', erased_at: Date },
  ])
  t.match(await rowsOf('SELECT * FROM notifications.redrive'), [{ code: 'not-json', error: 'erased' }])
  t.match(await rowsOf('SELECT * FROM notifications.erasure'), [{ rejected_messages: 1 }])
})

t.test('the schema refuses a partial erasure', async (t) => {
  for (const change of [
    `UPDATE notifications.decision SET erased_at = now() WHERE event_id = 'sent'`,
    `UPDATE notifications.decision SET erased_at = now(), variables = NULL WHERE event_id = 'refused'`,
    `UPDATE notifications.decision SET erased_at = now(), variables = NULL WHERE event_id = 'sent'`,
    `UPDATE notifications.notification_log SET subject = NULL WHERE event_id = 'sent'`,
    `UPDATE notifications.notification_log SET subject = NULL, body = NULL WHERE event_id = 'failed'`,
    `UPDATE notifications.notification_log SET subject = '', body = '' WHERE event_id = 'skipped'`,
  ]) {
    await t.rejects(
      client.query(change),
      /violates check constraint "(decision_erased|notification_log_text)/,
      change,
    )
  }
})
