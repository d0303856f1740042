import t from 'tap'
import type { LogFilter } from '../../../src/core/log/log-page.ts'
import { listLogEntries } from '../../../src/postgres/read/list-log-entries.ts'
import { aFound } from '../../core/build.ts'
import { eventIdsOfPages, LIMITS, openDatabase } from '../fixtures.ts'
import { record, retryAll, UNRESOLVED } from '../record.ts'

const { pool, client } = await openDatabase(t)
const NO_EMAIL = aFound({ email: null })

/** Event ids from all pages of this size. */
function found(filter: LogFilter, limit = 50): Promise<string[]> {
  return eventIdsOfPages((after) => listLogEntries(pool, LIMITS, filter, { limit, after }))
}

t.before(async () => {
  for (const known of [
    { eventId: 'sent' },
    { eventId: 'skipped', contact: NO_EMAIL, partyLocator: 'party-9' },
    { eventId: 'failed', contact: UNRESOLVED, eventType: 'invoice.paid', partyLocator: 'party-9' },
    { eventId: 'skipped-too', contact: NO_EMAIL },
  ]) {
    await record(pool, [known])
  }
})

t.test('a reason is found as a whole, and by its part before the colon', async (t) => {
  t.same(await found({ reason: 'no email on file' }), ['skipped-too', 'skipped'])
  t.same(await found({ reason: 'no email on file' }, 1), ['skipped-too', 'skipped'], 'page by page')
  const [{ failure_reason: whole }] = (
    await client.query(`SELECT failure_reason FROM notifications.notification_log WHERE event_id = 'failed'`)
  ).rows
  t.match(whole, /^contact could not be resolved: ./)
  t.same(await found({ reason: whole }), ['failed'])
  t.same(await found({ reason: 'contact could not be resolved' }), ['failed'])
  t.same(await found({ reason: 'contact could not' }), [])
})

t.test('a rule is that of the last decision, sent entries included', async (t) => {
  t.same(await found({ rule: 'no-email' }), ['skipped-too', 'skipped'])
  t.same(await found({ rule: 'email' }), ['sent'])
  t.same(await found({ rule: 'of-no-row' }), [])
})

t.test('the other filters apply too', async (t) => {
  const reason = 'no email on file'
  t.same(await found({ reason, partyLocator: 'party-9' }), ['skipped'])
  t.same(await found({ rule: 'no-email', partyLocator: 'party-9', channel: 'EMAIL' }), ['skipped'])
  t.same(await found({ reason, status: 'FAILED' }), [])
  t.same(await found({ reason, status: 'SENT' }), [])
  t.same(await found({ reason, eventType: 'invoice.paid' }), [])
  t.same(await found({ reason, eventId: 'skipped' }), ['skipped'])
  t.same(await found({ reason, from: '2100-01-01T00:00:00.000000Z' }), [])
  t.same(await found({ reason, to: '2000-01-01T00:00:00.000000Z' }), [])
})

t.test('given-up entries say so, and no others', async (t) => {
  const saidOf = async (filter: LogFilter) =>
    (await listLogEntries(pool, LIMITS, filter, { limit: 9, after: null })).items
      .filter(({ givenUp }) => givenUp)
      .map(({ eventId }) => eventId)
  t.same(await saidOf({}), [])
  await client.query(`UPDATE notifications.notification_log SET attempt_count = 3 WHERE event_id = 'failed'`)
  t.same(await saidOf({}), ['failed'])
  t.same(await saidOf({ reason: 'contact could not be resolved' }), ['failed'])
  await client.query(`UPDATE notifications.notification_log SET attempt_count = 0 WHERE event_id = 'failed'`)
  await retryAll(pool, NO_EMAIL)
  t.same(await found({ rule: 'no-email' }), ['skipped-too', 'failed', 'skipped'])
})
