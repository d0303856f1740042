import pg from 'pg'
import t from 'tap'
import { startIdentityProvider } from '../stack/identity-provider.ts'
import { until } from '../stack/until.ts'
import { anEvent, createWorld } from '../stack/world.ts'
import { readExposition } from '../telemetry/exposition.ts'
import { exchange, type Request } from './exchange.ts'

const [world, idp] = await Promise.all([createWorld(), startIdentityProvider()])
t.teardown(() => Promise.all([world.close(), idp.stop()]))

/** One request with a JSON body, and the answer's. */
async function ask(url: string, request: Omit<Request, 'body'> & { body?: unknown }) {
  const { status, body } = await exchange(url, {
    ...request,
    headers: { 'content-type': 'application/json', ...request.headers },
    body: request.body === undefined ? undefined : JSON.stringify(request.body),
  })
  return { status, body: JSON.parse(body) }
}

/** A service that has reached its database. */
async function ready(env: Record<string, string> = {}) {
  const service = await world.serve(env)
  await until(async () => (await fetch(`${service.url}/readyz`)).ok, { what: 'the service to be ready' })
  return service
}

t.test('a decision names the change of preferences that it followed', async (t) => {
  const service = await ready()
  const eventIds: string[] = []
  const dispatched = async () => {
    const { eventId, value } = anEvent({ partyLocator: 'party-1', eventType: 'claim.paid' })
    await world.publish([{ value }])
    await world.caughtUp()
    eventIds.push(eventId)
  }
  const put = (body: unknown) => ask(service.url, { method: 'PUT', path: '/preferences/party-1', body })

  await dispatched()
  await put({ optedOutEvents: ['claim.paid'] })
  await dispatched()
  await put({ preferredChannel: 'SMS' })
  await dispatched()
  await dispatched()

  const rows = await world.sql(
    `SELECT status, log.channel, failure_reason, preference_change.after
    FROM notifications.notification_log AS log
    JOIN notifications.decision USING (locator)
    LEFT JOIN notifications.preference_change ON preference_change.id = preference_change_id
    WHERE log.event_id = ANY($1) ORDER BY array_position($1, log.event_id)`,
    [eventIds],
  )
  t.match(rows, [
    { status: 'SENT', channel: 'EMAIL', after: null },
    { status: 'SKIPPED', after: { optedOutEvents: ['claim.paid'] } },
    { status: 'SENT', channel: 'SMS', after: { preferredChannel: 'SMS', optedOutEvents: [] } },
    { status: 'SENT', channel: 'SMS', after: { preferredChannel: 'SMS', optedOutEvents: [] } },
  ])
})

t.test('an opt-out and a probe never wait for lists', async (t) => {
  const service = await ready({ MANAGEMENT_PORT: '0' })
  const { url } = await service.logged(/^the management listener is up$/)
  const locker = new pg.Client(world.databaseUrl)
  await locker.connect()
  await locker.query('BEGIN')
  await locker.query('LOCK TABLE notifications.notification_log')
  let isLocked = true
  const listing = async () => {
    while (isLocked) await (await fetch(`${service.url}/log/list`)).arrayBuffer()
  }
  // More than there are connections.
  const readers = Array.from({ length: 6 }, listing)
  const waitersOf = async () => {
    const { value } = readExposition(await (await fetch(`${url}/metrics`)).text())
    return value('notifications_database_pool_waiters', { pool: 'lists' })
  }
  await until(async () => (await waitersOf()) === 4, { what: 'four lists to wait for the other two' })
  const body = { optedOutEvents: ['claim.paid'] }
  t.equal((await ask(service.url, { method: 'PUT', path: '/preferences/party-3', body })).status, 200)
  t.match(await ask(service.url, { method: 'GET', path: '/preferences/party-3' }), { status: 200, body })
  t.equal((await fetch(`${service.url}/readyz`)).status, 200)
  isLocked = false
  await locker.end()
  await Promise.all(readers)
  t.equal((await fetch(`${service.url}/log/list`)).status, 200)
})
