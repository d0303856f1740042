import t from 'tap'
import type { StoredPreferences } from '../../../src/core/party/preferences.ts'
import { listPreferenceChanges } from '../../../src/postgres/read/preferences.ts'
import { putPreferences } from '../../../src/postgres/write/put-preferences.ts'
import { openDatabase } from '../fixtures.ts'

const BEFORE: StoredPreferences = {
  email: null,
  phone: '1',
  preferredChannel: 'SMS',
  optedOutEvents: ['claim.paid'],
}
const AFTER: StoredPreferences = {
  email: 'a@example.org',
  phone: null,
  preferredChannel: 'EMAIL',
  optedOutEvents: [],
}

t.test("the changes of a party's preferences are listed newest first, and nobody else's", async (t) => {
  const { pool } = await openDatabase(t)
  await putPreferences(pool, 'party-1', BEFORE, 'a clerk')
  await putPreferences(pool, 'party-2', BEFORE, null)
  await putPreferences(pool, 'party-1', AFTER, null)
  const changes = await listPreferenceChanges(pool, 'party-1', 10)
  t.match(changes, [
    { changedBy: null, before: BEFORE, after: AFTER },
    { changedBy: 'a clerk', before: null, after: BEFORE },
  ])
  t.equal(changes.length, 2)
  t.equal((await listPreferenceChanges(pool, 'party-1', 1)).length, 1)
  t.same(await listPreferenceChanges(pool, 'nobody', 10), [])
})
