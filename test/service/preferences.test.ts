import pg from 'pg'
import t from 'tap'
import { until } from '../stack/until.ts'
import { aWorld } from '../stack/world.ts'
import { readExposition } from '../telemetry/exposition.ts'

const world = await aWorld(t)

t.test('an opt-out and a probe never wait for lists', async (t) => {
  const service = await world.serve({ MANAGEMENT_PORT: '0' })
  const get = (path: string) => fetch(`${service.url}${path}`)
  await until(async () => (await get('/readyz')).ok, { what: 'the service to be ready' })
  const { url } = await service.logged(/^the management listener is up$/)
  const locker = new pg.Client(world.databaseUrl)
  await locker.connect()
  await locker.query('BEGIN')
  await locker.query('LOCK TABLE notifications.notification_log')
  let isLocked = true
  const listing = async () => {
    while (isLocked) await (await get('/log/list')).arrayBuffer()
  }
  // More than there are connections.
  const readers = Array.from({ length: 6 }, listing)
  const waitersOf = async () => {
    const { value } = readExposition(await (await fetch(`${url}/metrics`)).text())
    return value('notifications_database_pool_waiters', { pool: 'lists' })
  }
  await until(async () => (await waitersOf()) === 4, { what: 'four lists to wait for the other two' })
  const preferences = { optedOutEvents: ['claim.paid', 'claim.payed'] }
  const put = await fetch(`${service.url}/preferences/party-3`, {
    method: 'PUT',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(preferences),
  })
  t.equal(put.status, 200)
  t.match(await (await get('/preferences/party-3')).json(), preferences)
  t.equal((await get('/readyz')).status, 200)
  isLocked = false
  await locker.end()
  t.match(await service.logged(/^an opt-out names event types/), { eventTypes: ['claim.payed'] })
  const page = await fetch(`${url}/console/data/preferences/party-3`)
  t.match(await page.json(), { unknownEventTypes: ['claim.payed'] })
  await Promise.all(readers)
  t.equal((await get('/log/list')).status, 200)
})
