import t from 'tap'
import { countNotTold } from '../../../src/postgres/read/count-not-told.ts'
import { aFound } from '../../core/build.ts'
import { openDatabase } from '../fixtures.ts'
import { record, UNRESOLVED } from '../record.ts'

const LIMITS = { maxAgeMs: 86_400_000, attemptCountMax: 3 }
const EVER = { since: '2000-01-01T00:00:00.000000Z' }
const NO_EMAIL = aFound({ email: null })
const NOTHING = { eventCount: 0, partyCount: 0, byReason: [], reasonCount: 0, byParty: [], cutAt: null }

t.test('those who were not told are counted by reason and by party, as events and as members', async (t) => {
  const { pool, client } = await openDatabase(t)
  t.same(await countNotTold(pool, LIMITS, EVER), NOTHING)
  for (const known of [
    { eventId: 'sent', partyLocator: 'party-1' },
    { eventId: '1', partyLocator: 'party-1', contact: NO_EMAIL },
    { eventId: '2', partyLocator: 'party-1', contact: NO_EMAIL, eventType: 'invoice.paid' },
    { eventId: '3', partyLocator: 'party-2', contact: NO_EMAIL },
    { eventId: '4', partyLocator: null },
    { eventId: '5', partyLocator: 'party-1', contact: UNRESOLVED },
    { eventId: 'waiting', partyLocator: 'party-3', contact: UNRESOLVED },
  ]) {
    await record(pool, [known])
  }
  await client.query(`UPDATE notifications.notification_log SET attempt_count = 3 WHERE event_id = '5'`)

  const NO_EMAIL_COUNT = { reason: 'no email on file', eventCount: 3, partyCount: 2 }
  t.same(await countNotTold(pool, LIMITS, EVER), {
    eventCount: 5,
    partyCount: 2,
    byReason: [
      NO_EMAIL_COUNT,
      { reason: 'contact could not be resolved', eventCount: 1, partyCount: 1 },
      { reason: 'no party locator', eventCount: 1, partyCount: 0 },
    ],
    reasonCount: 3,
    byParty: [
      { partyLocator: 'party-1', eventCount: 3 },
      { partyLocator: 'party-2', eventCount: 1 },
    ],
    cutAt: null,
  })
  for (const narrowed of [{ reason: 'no email on file' }, { rule: 'no-email' }]) {
    t.match(await countNotTold(pool, LIMITS, { ...EVER, ...narrowed }), {
      eventCount: 3,
      partyCount: 2,
      byReason: [NO_EMAIL_COUNT],
      reasonCount: 1,
    })
  }
  t.match(await countNotTold(pool, LIMITS, { ...EVER, eventType: 'invoice.paid' }), { eventCount: 1 })
  t.match(await countNotTold(pool, LIMITS, { ...EVER, status: 'FAILED' }), { eventCount: 1 })
  t.same(await countNotTold(pool, LIMITS, { since: '2100-01-01T00:00:00.000000Z' }), NOTHING)

  const newest = await countNotTold(pool, LIMITS, EVER, 3)
  t.match(
    newest,
    { eventCount: 2, cutAt: /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/ },
    'of three rows one waits',
  )
})
