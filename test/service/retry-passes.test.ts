import t from 'tap'
import type { LogLine, Service } from '../stack/service.ts'
import { until } from '../stack/until.ts'
import { anEvent, aWorld, type World } from '../stack/world.ts'

/** Sleeps of a minute take 3 s. */
const SHORT_MINUTE = { NODE_OPTIONS: `--import=${new URL('./short-minute.ts', import.meta.url).href}` }

const eventsOf = (prefix: string, count: number, partyOf: (i: number) => string) =>
  Array.from({ length: count }, (_, i) => anEvent({ eventId: `${prefix}-${i}`, partyLocator: partyOf(i) }))

/** As if the last attempt of every row were long ago. */
const makeDue = (world: World) =>
  world.sql(`UPDATE notifications.notification_log SET last_attempt_at = now() - interval '2 min'`)

const passesOf = (service: Service): LogLine[] =>
  service.lines.filter(({ msg }) =>
    /^(retried failed notifications|no failed notification is due)$/.test(msg),
  )
const passesOn = (service: Service, count: number) => {
  const begun = passesOf(service).length
  return until(() => passesOf(service).length >= begun + count, { what: 'the next retry passes' })
}

t.jobs = 2

t.test(
  'failed rows are retried every minute, on two processes each row once, whatever RETRY_INTERVAL says',
  { buffered: true },
  async (t) => {
    const world = await aWorld(t)
    for (const party of ['party-late', 'party-broken']) world.policyAdministration.set(party, 'error')
    // With an interval of an hour no pass but the first would come.
    const env = { ...SHORT_MINUTE, RETRY_INTERVAL: '1h' }
    const services = await Promise.all([world.spawn(env), world.spawn(env)])
    for (const service of services)
      t.equal((await service.logged(/RETRY_INTERVAL has no effect/)).level, 'warn')
    const late = eventsOf('late', 50, () => 'party-late')
    await world.publish([...late, ...eventsOf('broken', 50, () => 'party-broken')])
    await world.caughtUp()
    t.same(await world.sql('SELECT DISTINCT status, attempt_count FROM notifications.notification_log'), [
      { status: 'FAILED', attempt_count: 0 },
    ])
    world.policyAdministration.set('party-late', { email: 'a@example.com', phone: null })
    await makeDue(world)

    await Promise.all(services.map((service) => passesOn(service, 2)))
    t.same(
      await world.sql(`
        SELECT split_part(event_id, '-', 1) AS kind, status, attempt_count, sent_at IS NOT NULL AS sent, count(*)::int
        FROM notifications.notification_log GROUP BY 1, 2, 3, 4 ORDER BY 1`),
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
  },
)

t.test(
  'while policy administration is known to be down no attempt is made; once it is back rows are sent',
  { buffered: true },
  async (t) => {
    const world = await aWorld(t)
    world.policyAdministration.mode('down')
    const service = await world.spawn(SHORT_MINUTE)
    await world.publish(eventsOf('early', 60, (i) => `party-${i}`))
    await world.caughtUp()
    await service.logged(/policy administration is down/)
    t.equal((await fetch(`${service.url}/readyz`)).status, 200)
    await makeDue(world)
    const statuses = () =>
      world.sql(
        'SELECT status, attempt_count, count(*)::int FROM notifications.notification_log GROUP BY 1, 2',
      )

    await passesOn(service, 2)
    t.match(passesOf(service).at(-1), { SENT: 0, FAILED: 0, SKIPPED: 0, postponed: 60 })
    t.same(await statuses(), [{ status: 'FAILED', attempt_count: 0, count: 60 }])

    world.policyAdministration.mode('ok')
    await service.logged(/policy administration is back/)
    await until(async () => (await statuses())[0]?.status === 'SENT', { what: 'the rows to be sent' })
    t.same(await statuses(), [{ status: 'SENT', attempt_count: 1, count: 60 }])
  },
)
