import t from 'tap'
import type { LogLine, Service } from '../stack/service.ts'
import { until } from '../stack/until.ts'
import { anEvent, createWorld, type World } from '../stack/world.ts'

/** The specification's: fixed, whatever RETRY_INTERVAL says. */
const INTERVAL_MS = 60_000
const TOLERANCE_MS = 4_000

const eventsOf = (prefix: string, count: number, partyOf: (i: number) => string) =>
  Array.from({ length: count }, (_, i) => anEvent({ eventId: `${prefix}-${i}`, partyLocator: partyOf(i) }))

/** As if the last attempt of every row were long ago. */
const makeDue = (world: World) =>
  world.sql(`UPDATE notifications.notification_log SET last_attempt_at = now() - interval '2 min'`)

const passesOf = (service: Service): LogLine[] =>
  service.lines.filter(({ msg }) =>
    /^(retried failed notifications|no failed notification is due)$/.test(msg),
  )
const timeOf = (line: LogLine | undefined) => Date.parse(String(line?.time))

/** Waits for the second pass of each; the first one is at start-up. */
const secondPass = (services: readonly Service[]) =>
  until(() => services.every((service) => passesOf(service).length === 2), {
    what: 'the next retry pass',
    timeoutMs: INTERVAL_MS + TOLERANCE_MS,
    intervalMs: 250,
  })

// Both wait for the same minute.
t.jobs = 2

t.test(
  'failed rows are retried every 60 seconds, on two processes each row once, whatever RETRY_INTERVAL says',
  { buffered: true },
  async (t) => {
    const world = await createWorld()
    t.teardown(() => world.close())
    for (const party of ['party-late', 'party-broken']) world.policyAdministration.set(party, 'error')
    const services = await Promise.all([
      world.serve({ RETRY_INTERVAL: '1s' }),
      world.serve({ RETRY_INTERVAL: '1s' }),
    ])
    for (const service of services) {
      t.equal((await service.logged(/RETRY_INTERVAL has no effect/)).level, 'warn')
      await service.logged(/^no failed notification is due$/)
    }
    const late = eventsOf('late', 50, () => 'party-late')
    await world.publish([...late, ...eventsOf('broken', 50, () => 'party-broken')])
    await world.caughtUp()
    t.same(await world.sql('SELECT DISTINCT status, attempt_count FROM notifications.notification_log'), [
      { status: 'FAILED', attempt_count: 0 },
    ])
    world.policyAdministration.set('party-late', { email: 'a@example.com', phone: null })
    await makeDue(world)

    await secondPass(services)
    for (const service of services) {
      const [first, second] = passesOf(service)
      const elapsedMs = timeOf(second) - timeOf(first)
      t.ok(Math.abs(elapsedMs - INTERVAL_MS) < TOLERANCE_MS, `the next pass comes after ${elapsedMs} ms`)
    }
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
  'while policy administration is known to be down no attempt is made; once it is back events are sent again',
  { buffered: true },
  async (t) => {
    const world = await createWorld()
    t.teardown(() => world.close())
    world.policyAdministration.mode('down')
    const service = await world.serve()
    await service.logged(/^no failed notification is due$/)
    await world.publish(eventsOf('early', 60, (i) => `party-${i}`))
    await world.caughtUp()
    await service.logged(/policy administration is down/)
    await makeDue(world)
    const requestCount = world.policyAdministration.requests.count

    await secondPass([service])
    t.match(passesOf(service)[1], { SENT: 0, FAILED: 0, SKIPPED: 0, postponed: 60 })
    t.same(
      await world.sql(
        'SELECT status, attempt_count, count(*)::int FROM notifications.notification_log GROUP BY 1, 2',
      ),
      [{ status: 'FAILED', attempt_count: 0, count: 60 }],
    )
    const probeCount = world.policyAdministration.requests.count - requestCount
    t.ok(probeCount < 15, `it is asked only ${probeCount} times in a minute whether it is back`)

    world.policyAdministration.mode('ok')
    await service.logged(/policy administration is back/)
    await world.publish(eventsOf('after', 20, () => 'party-1'))
    await world.caughtUp()
    t.same(
      await world.sql(`
        SELECT status, count(*)::int FROM notifications.notification_log WHERE event_id LIKE 'after-%' GROUP BY 1`),
      [{ status: 'SENT', count: 20 }],
    )
  },
)
