import { mock } from 'node:test'
import t from 'tap'
import { until } from '../stack/until.ts'
import { clientOf, json, locators, serve } from './server.ts'

// Many a defect lets a look-up wait without end.
t.setTimeout(45_000)

// Alone, since it replaces Math.random.
await t.test('a healthy party is found, although a broken one is always requested after it', async (t) => {
  const server = await serve(t, (request, response) => {
    if (request.url?.includes('PTY-')) response.writeHead(500).end()
    else json(response, { email: 'a@example.org' })
  })
  const { client } = clientOf(t, server.url)
  await client.lookUp(locators(20))
  await client.whenDecided()
  t.ok(client.isDown())
  const targetCount = server.targets.length
  // Picks the first of a call.
  const random = mock.method(Math, 'random', () => 0)
  t.teardown(() => random.mock.restore())
  await client.lookUp(['healthy', 'PTY-1'])
  await until(() => !client.isDown(), { what: 'the end of the outage', intervalMs: 5 })
  t.equal(server.targets[targetCount], '/internal/parties/healthy')
})

// The others mostly wait five seconds for a probe.
t.jobs = 8

t.test('without look-ups, one request shows whether policy administration answers', async (t) => {
  const server = await serve(t, (_, response) => response.writeHead(404).end())
  const { client } = clientOf(t, server.url)
  t.same(await Promise.all([client.fault(), client.fault()]), [null, null], '404 is an answer')
  t.same([...new Set(server.targets)], ['/internal/parties/notifications-service-check'])
  t.equal(server.targets.length, 1, 'shared')
  const nobody = clientOf(t, 'http://127.0.0.1:1').client
  t.match(await nobody.fault(), /^policy administration did not answer \(ECONNREFUSED\)$/)
  const silent = clientOf(t, (await serve(t, () => {})).url, { deadlineMs: 100 }).client
  t.match(await silent.fault(), /did not answer within 0\.1 s/)
})

t.test('an answered look-up stands for a check, and a failed one does not', async (t) => {
  let status = 404
  const server = await serve(t, (_, response) => response.writeHead(status).end())
  const { client } = clientOf(t, server.url)
  await client.lookUp(['PTY-1'])
  const targetCount = server.targets.length
  t.equal(await client.fault(), null)
  t.equal(server.targets.length, targetCount)
  status = 500
  await client.lookUp(['PTY-2'])
  t.match(await client.fault(), /had an error \(HTTP 500\)/)
  t.equal(server.targets.at(-1), '/internal/parties/PTY-1', 'asks for a party that was answered before')
})

t.test('a renamed field opens the circuit, so that it costs no attempts', async (t) => {
  const server = await serve(t, (_, response) => json(response, { mail: 'a@example.org' }))
  const { client } = clientOf(t, server.url)
  const contacts = await client.lookUp(locators(100))
  t.ok(client.isDown())
  t.match(contacts.get('PTY-99'), {
    error: /during an outage: .*neither \/email nor \/phone/,
    costsNoAttempt: true,
  })
})

t.test('a service that hangs opens the circuit after the deadline', async (t) => {
  const server = await serve(t, () => {})
  const { client } = clientOf(t, server.url, { deadlineMs: 1_000, connectionCountMax: 32 })
  const [first, second] = await Promise.all([client.lookUp(locators(500)), client.lookUp(locators(500))])
  await until(() => client.isDown(), { what: 'the outage', intervalMs: 5 })
  t.ok(
    server.targets.length <= 36,
    `${server.targets.length} requests: while it is suspect none is made but a probe`,
  )
  for (const contact of [...first.values(), ...second.values()]) {
    t.match(contact, { error: /did not answer within 1 s/ })
  }
  const later = await client.lookUp(locators(500))
  t.strictSame(later.get('PTY-499'), {
    state: 'unresolved',
    error: 'the party was not looked up during an outage: policy administration did not answer within 1 s',
    costsNoAttempt: true,
  })
  t.equal(later.size, 500)
})
