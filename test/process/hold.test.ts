import t from 'tap'
import { scrape } from '../stack/ask.ts'
import { recordTo } from '../stack/record-recipients.ts'
import { until } from '../stack/until.ts'
import { anEvent, aWorld } from '../stack/world.ts'
import { command } from './command.ts'

const world = await aWorld(t, { partitionCount: 4 })
const env = { DATABASE_URL: world.databaseUrl }
const hold = (...args: string[]) => command(['hold', '--by', 'alice', ...args], env)
const resume = () => command(['resume', '--yes', '--by', 'bob', '--because', 'it is corrected'], env)

/** The event ids of the messages that senders were handed, in order. */
const sent: string[] = []
recordTo((_, messages) =>
  sent.push(...messages.map(({ idempotencyKey }) => idempotencyKey.split('/')[0] ?? '')),
)
const loggedIds = async () =>
  (await world.sql('SELECT event_id FROM notifications.notification_log')).map(({ event_id }) => event_id)

t.test('no message is sent between a hold and the resume, and each event has its row after it', async (t) => {
  const first = await world.serve({ MANAGEMENT_PORT: '0' })
  const published: string[] = []
  const publish = async (count: number) => {
    const events = Array.from({ length: count }, () => anEvent())
    await world.publish(events)
    published.push(...events.map(({ eventId }) => eventId))
  }
  await publish(200)
  let isUnderWay = true
  const publishing = (async () => {
    while (isUnderWay) await publish(50)
  })()
  await until(async () => sent.length > 200, { what: 'messages under way' })
  t.match(await hold('--because', 'a wrong text', '--yes'), {
    code: 0,
    stdout: /^request \d+: all topics, held by alice since .* because a wrong text$/m,
  })
  const [sentCount, rowCount] = [sent.length, (await loggedIds()).length]
  isUnderWay = false
  await publishing
  await publish(100)
  const second = await world.serve({ MANAGEMENT_PORT: '0' })
  const urls = [await first.managementUrl(), await second.managementUrl()]
  const isHeld = async (url: string) => {
    const metrics = await scrape(url)
    return [0, 1, 2, 3].some(
      (partition) =>
        metrics.value('notifications_partition_blocked', {
          topic: world.topics.claims,
          partition: String(partition),
          reason: 'held',
        }) === 1,
    )
  }
  for (const url of urls) await until(() => isHeld(url), { what: 'the replica to hold', timeoutMs: 60_000 })
  for (const { url } of [first, second]) t.equal((await fetch(`${url}/readyz`)).status, 200)
  t.equal(sent.length, sentCount)
  t.equal((await loggedIds()).length, rowCount)
  t.match(await hold('--show'), { code: 0, stdout: /held by alice/ })
  const gauge = (await scrape(urls[1] ?? '')).value('notifications_hold', { topic: world.topics.claims })
  t.equal(gauge, 1)
  const { stdout } = await command(['doctor'], world.env)
  t.match(stdout, /messages are held: all topics held by alice since .* because a wrong text/)
  t.match(await resume(), { code: 0, stderr: /no hold is in force/ })
  await world.caughtUp()
  t.same((await loggedIds()).sort(), published.sort())
  t.same(sent.sort(), published)
})

t.test('a hold of one topic leaves the others alone', async (t) => {
  t.match(await hold('--yes'), { code: 2, stderr: /--because is missing/ })
  t.match(await hold('--topic', world.topics.claims, '--because', 'x', '--yes'), { code: 0 })
  const [held, other] = [anEvent(), { ...anEvent(), topic: 'billing' as const }]
  await world.publish([held, other])
  await until(async () => (await loggedIds()).includes(other.eventId), { what: 'the event of another topic' })
  t.notOk((await loggedIds()).includes(held.eventId))
  t.match(await resume(), { code: 0 })
  await until(async () => (await loggedIds()).includes(held.eventId), { what: 'the held event' })
})
