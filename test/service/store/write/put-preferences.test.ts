import { randomBytes } from 'node:crypto'
import t from 'tap'
import { CHANNELS } from '../../../../src/service/decide/party/channel.ts'
import type { NewPreferences } from '../../../../src/service/decide/party/preferences.ts'
import { openPool } from '../../../../src/service/store/connection/pool.ts'
import {
  getPreferences,
  listPreferenceChanges,
  listPreferences,
  readPreferences,
} from '../../../../src/service/store/read/read-preferences.ts'
import { CHANGES_BYTES_MAX, putPreferences } from '../../../../src/service/store/write/put-preferences.ts'
import { openDatabase } from '../fixtures.ts'

const { url, pool, client } = await openDatabase(t)
t.beforeEach(() =>
  client.query('TRUNCATE notifications.notification_preferences, notifications.preference_change'),
)

const SMS: NewPreferences = {
  email: 'member@example.com',
  phone: null,
  preferredChannel: 'SMS',
  optedOutEvents: ['claim.paid', 'ä"😀\\'],
}

const IN_APP: NewPreferences = { email: null, phone: '1', preferredChannel: 'IN_APP', optedOutEvents: [] }
const changes = async () =>
  (await client.query('SELECT * FROM notifications.preference_change ORDER BY id')).rows

t.test('every change is recorded with author, time, before and after', async (t) => {
  t.equal(await getPreferences(pool, 'party-1'), null)
  t.strictSame(await putPreferences(pool, 'party-1', SMS, 'auditor'), SMS)
  t.strictSame(await getPreferences(pool, 'party-1'), SMS)
  t.strictSame(await putPreferences(pool, 'party-1', IN_APP, null), IN_APP)
  await putPreferences(pool, 'party-2', SMS, null)
  t.strictSame(
    await putPreferences(pool, 'party-1', IN_APP, 'other'),
    IN_APP,
    'equal preferences are no change',
  )
  await putPreferences(pool, 'party-1', SMS, null)
  const kept = await changes()
  t.match(kept, [
    { party_locator: 'party-1', changed_by: 'auditor', changed_at: Date },
    { party_locator: 'party-1', changed_by: null },
    { party_locator: 'party-2' },
    { party_locator: 'party-1', changed_by: null },
  ])
  t.strictSame(
    kept.map(({ before, after }) => ({ before, after })),
    [
      { before: null, after: SMS },
      { before: SMS, after: IN_APP },
      { before: null, after: SMS },
      { before: IN_APP, after: SMS },
    ],
  )
  const listed = await listPreferenceChanges(pool, 'party-1', { limit: 2, after: null })
  t.match(listed.items, [
    { before: IN_APP, after: SMS },
    { changedBy: null, before: SMS, after: IN_APP },
  ])
  t.equal(listed.items.length, 2, 'the newest ones, and of this party alone')
  t.match(await listPreferenceChanges(pool, 'party-1', { limit: 2, after: listed.next }), {
    items: [{ before: null, after: SMS }],
    next: null,
  })
})

t.test('what a party changes in a day is bounded in bytes, and nothing acknowledged is lost', async (t) => {
  const random = () => Array.from({ length: 200 }, () => randomBytes(127).toString('hex'))
  let last: unknown = null
  let count = 0
  for (let stored: unknown = SMS; stored !== null && count < 100; count++) {
    stored = await putPreferences(pool, 'party-1', { ...SMS, optedOutEvents: random() }, null)
    last = stored ?? last
  }
  t.equal(count < 100, true)
  const [kept] = (
    await client.query(
      'SELECT sum(pg_column_size(before) + pg_column_size(after))::int FROM notifications.preference_change',
    )
  ).rows
  t.equal(kept.sum < CHANGES_BYTES_MAX + 200_000, true, String(kept.sum))
  const inForce = await getPreferences(pool, 'party-1')
  t.strictSame(inForce, last)
  t.strictSame(
    await putPreferences(pool, 'party-1', last as NewPreferences, null),
    last,
    'what is in force is granted',
  )
  const long = { ...SMS, optedOutEvents: random() }
  t.strictSame(await putPreferences(pool, 'party-2', long, null), long, 'another party is not concerned')
  t.strictSame(await putPreferences(pool, 'party-1', SMS, null), SMS, 'a member can always opt out')
  t.equal(await putPreferences(pool, 'party-1', long, null), null)
  t.strictSame(await getPreferences(pool, 'party-1'), SMS)
  await client.query('UPDATE notifications.preference_change SET id = id - $1', [86_400 * 2 ** 22])
  t.strictSame(await putPreferences(pool, 'party-1', long, null), long, 'a day later')
})

t.test('invalid preferences are refused by the schema', async (t) => {
  await putPreferences(pool, 'party-1', SMS, null)
  await client.query(
    'ALTER TABLE notifications.preference_change ADD CONSTRAINT trap CHECK (false) NOT VALID',
  )
  t.teardown(() => client.query('ALTER TABLE notifications.preference_change DROP CONSTRAINT trap'))
  await t.rejects(putPreferences(pool, 'party-1', IN_APP, null))
  t.strictSame(await getPreferences(pool, 'party-1'), SMS)
  t.equal((await changes()).length, 1)
})

t.test('every table that names a channel takes any, so that a new one needs no migration', async (t) => {
  const { rows } = await client.query(`
    SELECT conname, pg_get_constraintdef(oid) AS "check" FROM pg_constraint
    WHERE connamespace = 'notifications'::regnamespace`)
  t.equal(rows.filter(({ conname }) => /_channel_shape$/.test(conname)).length, 3)
  t.strictSame(
    rows.filter(({ check }) => CHANNELS.some((channel) => check.includes(`'${channel}'`))),
    [],
  )
})

t.test('concurrent changes follow one another, and the last one is in force', async (t) => {
  const all = Array.from({ length: 60 }, (_, i): NewPreferences => ({ ...SMS, phone: String(i) }))
  const stored = await Promise.all(
    all.map((preferences) => putPreferences(pool, 'party-1', preferences, null)),
  )
  t.strictSame(stored, all)
  const kept = await changes()
  t.equal(kept.length, all.length)
  for (const [i, { before, changed_at: changedAt }] of kept.entries()) {
    t.strictSame(before, kept[i - 1]?.after ?? null)
    t.ok(changedAt >= (kept[i - 1]?.changed_at ?? 0))
  }
  t.strictSame(await getPreferences(pool, 'party-1'), kept.at(-1)?.after)
})

t.test('parties whose locks another process keeps hold up no other party', async (t) => {
  const small = await openPool({ databaseUrl: url, connectionCountMax: 2 })
  t.teardown(() => small.end())
  await client.query('BEGIN')
  for (const party of ['party-1', 'party-2'])
    await client.query('SELECT pg_advisory_xact_lock(4006, hashtext($1))', [party])
  const waiting = ['party-1', 'party-2'].map((party) => putPreferences(small, party, SMS, null))
  t.strictSame(await putPreferences(small, 'party-3', SMS, null), SMS)
  await client.query('COMMIT')
  t.strictSame(await Promise.all(waiting), [SMS, SMS])
})

t.test('each change is the last one of its party, even if the clock was set back', async (t) => {
  await putPreferences(pool, 'party-1', SMS, null)
  const tomorrow = 86_400 * 2 ** 22
  await client.query('UPDATE notifications.preference_change SET id = id + $1', [tomorrow])
  const seen = async () => (await readPreferences(pool, ['party-1'])).get('party-1')?.changeId
  const ids = [await seen()]
  for (const preferences of [IN_APP, SMS]) {
    await putPreferences(pool, 'party-1', preferences, null)
    ids.push(await seen())
    t.match((await listPreferenceChanges(pool, 'party-1', { limit: 1, after: null })).items, [
      { after: preferences },
    ])
  }
  t.equal(new Set(ids).size, 3)
})

t.test('dispatch reads the preferences in force, with their change', async (t) => {
  const seen = async () => (await readPreferences(pool, ['party-1'])).get('party-1')
  t.equal(await seen(), undefined)
  await putPreferences(pool, 'party-1', SMS, null)
  const [first] = await changes()
  t.strictSame(await seen(), {
    preferredChannel: 'SMS',
    optedOutEvents: new Set(SMS.optedOutEvents),
    hasUnreadableOptOuts: false,
    changeId: first.id,
  })
  await putPreferences(pool, 'party-1', IN_APP, null)
  const [, second] = await changes()
  t.match(await seen(), { preferredChannel: 'IN_APP', optedOutEvents: new Set(), changeId: second.id })
})

t.test('opt-outs in the form of another version are no names, and are noticed', async (t) => {
  const list = 'notification_preferences_opted_out_is_list'
  await client.query(`ALTER TABLE notifications.notification_preferences DROP CONSTRAINT ${list}`)
  const forms: readonly (readonly [stored: string, shown: readonly string[]])[] = [
    ['["claim.paid", {"eventType": "claim.approved"}]', ['claim.paid']],
    ['["claim.paid", 1]', ['claim.paid']],
    ['[null]', []],
    ['["claim.*"]', ['claim.*']],
    ['{"claim.paid": true}', []],
    ['"claim.paid"', []],
  ]
  for (const [stored, shown] of forms) {
    await client.query(
      `INSERT INTO notifications.notification_preferences (party_locator, opted_out_events) VALUES ($1, $2)`,
      [stored, stored],
    )
    t.match(await getPreferences(pool, stored), { email: null, preferredChannel: 'EMAIL' })
    t.strictSame((await getPreferences(pool, stored))?.optedOutEvents, shown)
    const read = (await readPreferences(pool, [stored])).get(stored)
    t.strictSame(read?.optedOutEvents, new Set(shown.filter((name) => name === 'claim.paid')), stored)
    t.equal(read?.hasUnreadableOptOuts, true, stored)
  }
  t.equal((await listPreferences(pool, { limit: 50, after: null })).items.length, forms.length)
})

t.test('a change in the form of another version hides none of the others', async (t) => {
  await putPreferences(pool, 'party-1', SMS, 'a')
  for (const stored of ['{}', '{"email": {}, "phone": 1, "preferredChannel": ["SMS"]}', '"x"', '[]', 'null'])
    await client.query(
      `INSERT INTO notifications.preference_change (party_locator, changed_by, before, after) VALUES ('party-1', 'b', $1, $1)`,
      [stored],
    )
  await putPreferences(pool, 'party-1', IN_APP, 'c')
  const { items } = await listPreferenceChanges(pool, 'party-1', { limit: 50, after: null })
  const unread = { email: null, phone: null, preferredChannel: 'unknown', optedOutEvents: [] }
  t.match(items, [
    { changedBy: 'c', before: SMS, after: IN_APP },
    { changedBy: 'b', before: null, after: unread, isUnreadable: true },
    ...Array.from({ length: 4 }, () => ({
      ...{ changedBy: 'b', before: unread, after: unread, isUnreadable: true },
    })),
    { changedBy: 'a', before: null, after: SMS, isUnreadable: undefined },
  ])
})

t.test('the list has every party once, by code point, page by page', async (t) => {
  const parties = [...Array.from({ length: 24 }, (_, i) => `party-${i}`), 'ä', 'Z', 'a', '😀', '\uffee', ' ']
  for (const party of parties) await putPreferences(pool, party, SMS, null)
  const seen: string[] = []
  let after: string | null = null
  let pageCount = 0
  do {
    const page = await listPreferences(pool, { limit: 10, after })
    seen.push(...page.items.map(({ partyLocator }) => partyLocator))
    for (const item of page.items) t.match(item, SMS)
    after = page.next
    pageCount++
  } while (after !== null)
  const expected = parties.toSorted((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)))
  t.strictSame(seen, expected)
  t.equal(pageCount, 3, 'also where the last page is exactly full')
})
