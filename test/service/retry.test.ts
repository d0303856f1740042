import t from 'tap'
import { preloading } from '../stack/executable.ts'
import type { LogLine, Service } from '../stack/service.ts'
import { until } from '../stack/until.ts'
import { anEvent, aWorld } from '../stack/world.ts'

const LOG = 'notifications.notification_log'
const REACHABLE = { email: 'a@example.com', phone: '+44 20 7946 0000' }
/** Sleeps of a minute take 3 s. */
const SHORT_MINUTE = preloading(new URL('./short-minute.ts', import.meta.url))
/** As if the last attempt were long ago: the row is due in the next pass. */
const LONG_AGO = `last_attempt_at = now() - interval '2 min'`

const eventsOf = (prefix: string, partyLocator: string) =>
  Array.from({ length: 50 }, (_, i) => anEvent({ eventId: `${prefix}-${i}`, partyLocator }))
const passesOf = (service: Service): LogLine[] =>
  service.lines.filter(({ msg }) =>
    /^(retried failed notifications|no failed notification is due)$/.test(msg),
  )
const passesOn = (service: Service, count: number) => {
  const begun = passesOf(service).length
  return until(() => passesOf(service).length >= begun + count, { what: 'the next retry passes' })
}

t.test('failed rows are retried every minute, on two processes each row once', async (t) => {
  const world = await aWorld(t)
  for (const party of ['party-late', 'party-broken']) world.policyAdministration.set(party, 'error')
  // With an interval of an hour no pass but the first would come.
  const env = { ...SHORT_MINUTE, RETRY_INTERVAL: '1h' }
  const services = await Promise.all([world.spawn(env), world.spawn(env)])
  for (const service of services)
    t.equal((await service.logged(/RETRY_INTERVAL has no effect/)).level, 'warn')
  await world.publish([...eventsOf('late', 'party-late'), ...eventsOf('broken', 'party-broken')])
  await world.caughtUp()
  const statuses = `SELECT DISTINCT status, attempt_count FROM ${LOG}`
  t.same(await world.sql(statuses), [{ status: 'FAILED', attempt_count: 0 }])
  world.policyAdministration.set('party-late', REACHABLE)
  await world.sql(`UPDATE ${LOG} SET ${LONG_AGO}`)

  await Promise.all(services.map((service) => passesOn(service, 2)))
  t.same(
    await world.sql(`
      SELECT split_part(event_id, '-', 1) AS kind, status, attempt_count, sent_at IS NOT NULL AS sent, count(*)::int
      FROM ${LOG} GROUP BY 1, 2, 3, 4 ORDER BY 1`),
    [
      { kind: 'broken', status: 'FAILED', attempt_count: 1, sent: false, count: 50 },
      { kind: 'late', status: 'SENT', attempt_count: 1, sent: true, count: 50 },
    ],
  )
  t.same(
    await world.sql(`
      SELECT attempt, outcome, count(*)::int, count(DISTINCT receipt)::int AS receipts
      FROM notifications.decision GROUP BY 1, 2 ORDER BY 1, 2`),
    [
      { attempt: 0, outcome: 'FAIL', count: 100, receipts: 0 },
      { attempt: 1, outcome: 'FAIL', count: 50, receipts: 0 },
      { attempt: 1, outcome: 'SEND', count: 50, receipts: 50 },
    ],
  )
})
