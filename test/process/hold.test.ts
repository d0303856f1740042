import t from 'tap'
import { scrape } from '../stack/ask.ts'
import { recordTo } from '../stack/record-recipients.ts'
import { until } from '../stack/until.ts'
import { anEvent, aWorld } from '../stack/world.ts'
import { command } from './command.ts'

const world = await aWorld(t, { partitionCount: 4 })
const topics = Object.values(world.topics)
const env = { DATABASE_URL: world.databaseUrl, MQ_TOPICS: topics.join(',') }
const hold = (...args: string[]) => command(['hold', '--by', 'alice', ...args], env)
const resume = (...args: string[]) =>
  command(['resume', '--yes', '--by', 'bob', '--because', 'it is corrected', ...args], env)

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
  for (const url of urls) await until(() => isHeld(url), { what: 'the replica to hold' })
  for (const { url } of [first, second]) t.equal((await fetch(`${url}/readyz`)).status, 200)
  t.equal(sent.length, sentCount)
  t.equal((await loggedIds()).length, rowCount)
  t.match(await hold('--show'), { code: 0, stdout: /held by alice/ })
  const gauge = async () =>
    (await scrape(urls[1] ?? '')).value('notifications_hold', { topic: world.topics.claims })
  t.equal(await until(gauge, { what: 'the metric to say so' }), 1)
  const { stdout } = await command(['doctor'], world.env)
  t.match(stdout, /messages are held: all topics held by alice since .* because a wrong text/)
  const waits =
    /^messages are held: all topics held by alice since .* because a wrong text: its event may wait$/m
  t.match(await command(['why', 'no-row-yet'], env), { code: 1, stderr: waits })
  t.match(await resume(), { code: 0, stderr: /no hold is in force/ })
  await world.caughtUp()
  t.strictSame((await loggedIds()).sort(), published.sort())
  t.notMatch((await command(['why', 'no-row-yet'], env)).stderr, /held/)
  t.strictSame(sent.sort(), published)
})

t.test('a hold of one topic leaves the others alone', async (t) => {
  t.match(await hold('--yes'), { code: 2, stderr: /--because is missing/ })
  t.match(await hold('--topic', world.topics.claims, '--because', 'x', '--yes'), { code: 0 })
  const [held, other] = [anEvent(), { ...anEvent(), topic: 'billing' as const }]
  await world.publish([held, other])
  await until(async () => (await loggedIds()).includes(other.eventId), { what: 'the event of another topic' })
  t.notOk((await loggedIds()).includes(held.eventId))
  t.match(await command(['resume', '--because', 'x'], env), { code: 2, stderr: /use --yes$/m })
  t.notOk((await loggedIds()).includes(held.eventId))
  t.match(await resume(), { code: 0 })
  await until(async () => (await loggedIds()).includes(held.eventId), { what: 'the held event' })
})

t.test('a declined hold or resume exits with 1, so that no script takes it for done', async (t) => {
  const answered = (name: string, answer: string) => command([name, '--because', 'x'], env, answer)
  t.match(await answered('hold', 'n'), { code: 1, stderr: /Hold all messages\? .*: nothing is held/s })
  t.match(await answered('hold', 'y'), { code: 0, stdout: /all topics, held/ })
  t.match(await answered('resume', '\u0003'), { code: 1, stderr: /Resume\? .*the hold stays in force/s })
  t.match(await answered('resume', 'y'), { code: 0, stderr: /no hold is in force/ })
})

t.test(
  'a topic that is not consumed is not held: nobody may believe that its messages stopped',
  async (t) => {
    const { claims } = world.topics
    t.match(await hold('--topic', claims, 'clams', '--because', 'x', '--yes'), {
      code: 2,
      stderr: `clams: MQ_TOPICS has ${topics.join(', ')}`,
    })
    t.match(await hold('--show'), { code: 0, stderr: /no hold is in force/ })
    const shell = { ...env, MQ_TOPICS: 'clams' }
    t.match(await command(['hold', '--topic', 'clams', '--because', 'x', '--yes'], shell), {
      code: 2,
      stderr: `clams: MQ_TOPICS has ${topics.join(', ')}`,
    })
  },
)

t.test('a resume of one topic leaves the other holds in force', async (t) => {
  const { claims, billing } = world.topics
  await hold('--topic', claims, '--because', 'x', '--yes')
  await hold('--topic', billing, '--because', 'y', '--yes')
  t.match(await resume('--topic', 'clams'), { code: 2, stderr: /clams: .*claims/ })
  t.match(await resume('--topic', claims), { code: 0, stderr: new RegExp(`^${claims} is not held$`, 'm') })
  t.match((await hold('--show')).stdout, new RegExp(`^request \\d+: ${billing}, held by alice`))
  await hold('--because', 'all of them', '--yes')
  t.match(await resume('--topic', billing), {
    code: 1,
    stderr: /all topics, .*: still in force, since it .* other topics: `resume` without --topic/,
  })
  // A topic may leave MQ_TOPICS while it is held.
  const later = { ...env, MQ_TOPICS: 'others' }
  await hold('--topic', claims, '--because', 'x', '--yes')
  t.match(await command(['resume', '--yes', '--topic', claims, '--because', 'z'], later), { code: 1 })
  t.match((await hold('--show')).stdout, /^request \d+: all topics.*\n$/)
  t.match(await resume(), { code: 0, stderr: /no hold is in force/ })
})

t.test('an operator holds and resumes by the console, which says how many events wait', async (t) => {
  const service = await world.serve({ MANAGEMENT_PORT: '0' })
  const url = await service.managementUrl()
  await until(async () => (await fetch(`${service.url}/readyz`)).ok, { what: 'the database' })
  const ask = async (wanted: object, key?: string) => {
    const headers = { 'content-type': 'application/json' }
    const body = JSON.stringify({ wanted, because: 'a wrong text', key })
    return fetch(`${url}/console/data/requests`, { method: 'POST', headers, body })
  }
  const mistyped = await ask({ kind: 'hold', topics: ['clams'] })
  t.match(await mistyped.json(), { status: 400, detail: /clams: MQ_TOPICS has / })
  const readStatus = async () =>
    (await (await fetch(`${url}/console/data/status`)).json()) as {
      holds: { id: string; by: string; waiting?: number | null }[]
      blocked: unknown[]
      totals: { waiting: number | null }
    }
  await until(async () => (await readStatus()).totals.waiting === 0, { what: 'a count before the hold' })
  const key = 'a'.repeat(32)
  const wanted = { kind: 'hold', topics: [world.topics.claims] }
  const held = await ask(wanted, key)
  t.equal(held.status, 201)
  const { id } = (await held.json()) as { id: string }
  t.match(await (await ask(wanted, key)).json(), { id }, 'the answer may be lost')
  const sentCount = sent.length
  const events = Array.from({ length: 30 }, () => anEvent())
  await world.publish(events)
  t.not((await readStatus()).holds[0]?.waiting, 0, 'no count of before the hold')
  // A broker that is slow may not tell it for a while.
  const status = await until(
    async () => {
      const found = await readStatus()
      return found.holds[0]?.waiting === 30 && found.totals.waiting !== null && found
    },
    { what: 'the count' },
  )
  t.match(status, {
    holds: [{ id, by: 'console', because: 'a wrong text', waiting: 30 }],
    blocked: [],
    // Also those whose partitions another replica has: a search that finds nothing says that they wait.
    totals: { waiting: 30 },
  })
  const topic = world.topics.claims
  const heldCount = async () => (await scrape(url)).value('notifications_held_events', { topic })
  t.equal(await until(heldCount, { what: 'the metric to have the count' }), 30)
  t.match(await command(['hold', '--show'], world.env), { code: 0, stdout: /\(30 events wait\)/ })
  t.match(await hold('--show'), { code: 0, stderr: /MQ_ variables/ })
  t.match(await command(['requests', 'list'], env), {
    code: 0,
    stdout: new RegExp(`^\\S+  request ${id} waiting  hold of ${topic}, by console: a wrong text$`, 'm'),
  })
  t.equal(sent.length, sentCount)
  t.equal((await ask({ kind: 'resume', hold: '987654321' })).status, 400)
  t.match(await (await ask({ kind: 'resume', hold: id })).json(), { id })
  const note = 'resumed by console: a wrong text'
  t.match(await (await fetch(`${url}/console/data/requests/${id}`)).json(), { state: 'done', note })
  await until(async () => events.every(({ eventId }) => sent.includes(eventId)), {
    what: 'what waited to be sent',
  })
  t.equal((await ask({ kind: 'resume', hold: id })).status, 201, 'once more changes nothing')
  const again = {
    status: 400,
    detail: `the key belongs to request ${id}, a hold that has ended: choose another key.`,
  }
  t.match(await (await ask(wanted, key)).json(), again, 'nothing is held')
  t.comment('another request with the key is a request of its own')
  const others = [{ kind: 'hold' }, { kind: 'retry', filter: {} }, { kind: 'retry', filter: { from: '24h' } }]
  const ids = [id]
  for (const other of others) ids.push(((await (await ask(other, key)).json()) as { id: string }).id)
  t.equal(new Set(ids).size, 4)
  t.match(await (await ask(others[2] ?? {}, key)).json(), { id: ids[3] })
  t.equal((await ask({ kind: 'resume', hold: ids[1] })).status, 201)
})
