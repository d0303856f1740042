import { readFile } from 'node:fs/promises'
import pg from 'pg'
import t from 'tap'
import { putPreferences, scrape as scrapeFrom, untilReady } from '../stack/ask.ts'
import { withTransactions } from '../stack/topics.ts'
import { until } from '../stack/until.ts'
import { anEvent, aWorld } from '../stack/world.ts'

const PARTITION_COUNT = 2
const world = await aWorld(t, { partitionCount: PARTITION_COUNT })
const service = await world.serve({ MANAGEMENT_PORT: '0' })
const managementUrl = await service.managementUrl()

const scrape = () => scrapeFrom(managementUrl)

t.test('dispatched events are counted', async (t) => {
  await service.logged(/^joined the consumer group$/)
  const skipped = Array.from({ length: 5 }, () => anEvent({ partyLocator: 'no-email-1' }))
  const sent = Array.from({ length: 20 }, () => anEvent())
  await world.publish([...sent, ...sent.slice(0, 3), ...skipped, { value: 'no JSON' }])
  await world.caughtUp()
  await Promise.all(['/log/list', '/log/NTF-1', '/nowhere'].map((path) => fetch(`${service.url}${path}`)))
  const inLog = (status: string, rule: string) => ({ status, channel: 'EMAIL', rule })
  // They are counted just after their commit.
  const { value, observed } = await until(
    async () => {
      const found = await scrape()
      const counted =
        (found.value('notifications_outcomes_total', inLog('SENT', 'email')) ?? 0) +
        (found.value('notifications_outcomes_total', inLog('SKIPPED', 'no-email')) ?? 0) +
        (found.value('notifications_duplicates_total') ?? 0) +
        (found.value('notifications_rejected_messages_total', { code: 'not-json' }) ?? 0)
      return counted >= 29 && found
    },
    { what: 'all messages to be counted' },
  )
  for (const [route, status] of [
    ['/log/list', 200],
    ['/log/:locator', 404],
    ['none', 404],
  ]) {
    const labels = `{route="${route}",method="GET",status="${status}"}`
    t.ok(observed('notifications_http_response_duration_seconds', labels), labels)
  }
  t.equal(value('notifications_outcomes_total', inLog('SENT', 'email')), 20)
  t.equal(value('notifications_outcomes_total', inLog('SKIPPED', 'no-email')), 5)
  t.equal(
    value('notifications_events_total', {
      ...{ event_type: 'claim.paid', status: 'SENT' },
      ...{ topic: world.topics.claims, party: 'found' },
    }),
    20,
  )
  t.equal(value('notifications_duplicates_total'), 3)
  t.equal(value('notifications_rejected_messages_total', { code: 'not-json' }), 1)
  for (const stage of ['look_up', 'contacts', 'commit', 'send']) {
    t.ok(observed('notifications_stage_duration_seconds', `{stage="${stage}"}`), stage)
  }
})

const SKIP_MOCK = process.env.KAFKA_KIND === 'mock' && 'the mock broker keeps no transactions'

t.test('messages behind a transaction that stays open are behind', { skip: SKIP_MOCK }, async () => {
  const { claims } = world.topics
  const place = { topic: claims, partition: '0' }
  await withTransactions(world.brokers, [claims], async ([producer]) => {
    const transaction = await producer?.transaction()
    await transaction?.send({ topic: claims, messages: [{ partition: 0, value: 'in no hurry' }] })
    const isBehind = async () => (await scrape()).value('notifications_consumer_lag_messages', place) === 1
    await until(isBehind, { what: 'the message to be behind' })
    const age = async () =>
      (await scrape()).value('notifications_oldest_unprocessed_event_age_seconds', place) ?? 0
    await until(async () => (await age()) > 0, { what: 'its age to grow' })
    await transaction?.abort()
  })
  await world.caughtUp()
})

t.test('every metric that the dashboard and the alerts name is there', async (t) => {
  const { names } = await scrape()
  for (const file of ['dashboard.json', 'alerts.yaml']) {
    const text = await readFile(new URL(`../../src/service/telemetry/${file}`, import.meta.url), 'utf8')
    const named = new Set(text.match(/\b(notifications|nodejs|process)_[a-z0-9_]+/g))
    t.ok(named.size > 5, file)
    for (const name of named) t.ok(names.has(name), `${name} of ${file}`)
  }
})

t.test('an opt-out and a probe never wait for lists', async (t) => {
  const get = (path: string) => fetch(`${service.url}${path}`)
  await untilReady(service.url)
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
  const waitersOf = async () =>
    (await scrape()).value('notifications_database_pool_waiters', { pool: 'lists' })
  await until(async () => (await waitersOf()) === 4, { what: 'four lists to wait for the other two' })
  const preferences = { optedOutEvents: [' Claim.Paid', 'claim.payed'] }
  t.match(await putPreferences(service.url, 'party-3', preferences), { status: 200 })
  t.match(await (await get('/preferences/party-3')).json(), preferences)
  t.equal((await get('/readyz')).status, 200)
  isLocked = false
  await locker.end()
  t.match(await service.logged(/^an opt-out names event types/), { eventTypes: ['claim.payed'] })
  const page = await fetch(`${managementUrl}/console/data/preferences/party-3`)
  t.match(await page.json(), { unknownEventTypes: ['claim.payed'] })
  await Promise.all(readers)
  t.equal((await get('/log/list')).status, 200)
})

t.test('of 60 changes of one party at once none is refused, and none is lost', async (t) => {
  const numbers = Array.from({ length: 60 }, (_, i) => String(i))
  const put = (phone: string) => putPreferences(service.url, 'party-eager', { phone })
  const other = () => putPreferences(service.url, 'party-calm', {})
  const [calm, ...burst] = await Promise.all([other(), ...numbers.map(put), other()])
  t.strictSame(
    burst.map(({ status }) => status),
    Array(61).fill(200),
  )
  t.equal(calm.status, 200)
  const kept = await world.sql(`
    SELECT before ->> 'phone' AS was, after ->> 'phone' AS is FROM notifications.preference_change
    WHERE party_locator = 'party-eager' ORDER BY id`)
  t.strictSame(kept.map(({ is }) => is).sort(), numbers.toSorted())
  t.strictSame(
    kept.slice(1).map(({ was }) => was),
    kept.slice(0, -1).map(({ is }) => is),
  )
})
