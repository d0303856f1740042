import { once } from 'node:events'
import { createServer } from 'node:http'
import { createServer as createTcpServer } from 'node:net'
import { mock } from 'node:test'
import { pino } from 'pino'
import t from 'tap'
import type { PartiesAgain } from '../../../src/service/attempt/look-up.ts'
import { createRetry } from '../../../src/service/attempt/retry.ts'
import type { Attempt } from '../../../src/service/decide/attempt/attempt.ts'
import { freePort } from '../../stack/free-port.ts'
import { close } from '../../stack/listen.ts'
import { until } from '../../stack/until.ts'
import { aRetryMaker } from '../attempt/retry-maker.ts'
import { aDueEntry } from '../decide/attempt/build.ts'
import { clientOf, json, locators, serve, serveTcp } from './server.ts'

// With many defects a look-up would wait without end.
t.setTimeout(90_000)

// Alone, since it replaces Math.random.
await t.test('a healthy party is found, although a broken one is always requested after it', async (t) => {
  const server = await serve(t, (request, response) => {
    if (request.url?.includes('PTY-')) response.writeHead(500).end()
    else json(response, { email: 'a@example.org' })
  })
  const { client } = clientOf(t, server.url)
  const contacts = await client.lookUpAgain(locators(20))
  t.ok(client.isDown(), 'who asks again learns the verdict')
  for (const contact of contacts.values())
    t.match(contact, { error: /during an outage: .*HTTP 500/, costsNoAttempt: true })
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
  t.strictSame(await Promise.all([client.fault(), client.fault()]), [null, null], '404 is an answer')
  t.strictSame([...new Set(server.targets)], ['/internal/parties/notifications-service-check'])
  t.equal(server.targets.length, 1, 'shared')
  const nobody = clientOf(t, 'http://127.0.0.1:1').client
  t.match(await nobody.fault(), /^policy administration did not answer \(ECONNREFUSED\)$/)
  // Long enough for a connection on a busy machine.
  const silent = clientOf(t, (await serve(t, () => {})).url, { deadlineMs: 2_000 }).client
  t.match(await silent.fault(), /did not answer within 2 s/)
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
  const sinceMs = client.failsSinceMs()
  t.ok(sinceMs !== null && Math.abs(Date.now() - sinceMs) < 60_000, 'says since when')
  await client.lookUp(['PTY-3'])
  t.equal(client.failsSinceMs(), sinceMs, 'of the first failure in a row')
  t.equal(server.targets.at(-2), '/internal/parties/PTY-1', 'asks for a party that was answered before')
})

t.test('a renamed field opens the circuit, so that it costs no attempts', async (t) => {
  const server = await serve(t, (_, response) => json(response, { mail: 'a@example.org' }))
  const { client } = clientOf(t, server.url)
  const contacts = await client.lookUp(locators(100))
  t.ok(client.isDown())
  t.match(contacts.get('PTY-99'), {
    error: /during an outage: .*neither \/email nor /,
    costsNoAttempt: true,
  })
})

t.test('a service that hangs opens the circuit after the deadline', async (t) => {
  const server = await serve(t, () => {})
  const { client } = clientOf(t, server.url, { deadlineMs: 4_000, connectionCountMax: 32 })
  const [first, second] = await Promise.all([client.lookUp(locators(500)), client.lookUp(locators(500))])
  await until(() => client.isDown(), { what: 'the outage', intervalMs: 5 })
  t.ok(
    server.targets.length <= 36,
    `${server.targets.length} requests: while it is suspect none is made but a probe`,
  )
  for (const contact of [...first.values(), ...second.values()]) {
    t.match(contact, { error: /did not answer within 4 s/ })
  }
  const later = await client.lookUp(locators(500))
  t.strictSame(later.get('PTY-499'), {
    state: 'unresolved',
    error: 'the party was not looked up during an outage: policy administration did not answer within 4 s',
    costsNoAttempt: true,
  })
  t.equal(later.size, 500)
})

/** The background retry of these parties' FAILED rows, which gives up after three attempts. */
function retryOf(parties: readonly string[], client: PartiesAgain) {
  const rows = new Map<string, Pick<Attempt, 'status' | 'attemptCount'>>(
    parties.map((party) => [party, { status: 'FAILED', attemptCount: 0 }]),
  )
  const maker = aRetryMaker(async (attempts) => {
    for (const { eventId, status, attemptCount } of attempts) rows.set(eventId, { status, attemptCount })
  })
  const listDue = async () => {
    const open = [...rows].filter(([, row]) => row.status === 'FAILED' && row.attemptCount < 3)
    const due = open.map(([party, { attemptCount }]) =>
      aDueEntry(party, { partyLocator: party, attemptCount }),
    )
    return { due, next: null }
  }
  const retry = createRetry<number>(maker, client, listDue, pino({ level: 'silent' }))
  return { pass: retry.pass, rows }
}

for (const lost of ['refuses', 'closes'] as const) {
  t.test(`six parties lose no attempt while policy administration ${lost} connections`, async (t) => {
    const closing = createTcpServer((socket) => void socket.destroy())
    // No outgoing connection is given it while nobody listens.
    const port = await freePort()
    if (lost === 'closes') await once(closing.listen(port, '127.0.0.1'), 'listening')
    const { client } = clientOf(t, `http://127.0.0.1:${port}`)
    const { pass, rows } = retryOf(locators(6), client)
    for (let minute = 0; minute < 4; minute++) await pass()
    t.match([...rows.values()], Array(6).fill({ status: 'FAILED', attemptCount: 0 }))
    if (lost === 'closes') await new Promise((resolve) => closing.close(resolve))
    const server = createServer((_, response) => json(response, { email: 'a@example.org' }))
    await once(server.listen(port, '127.0.0.1'), 'listening')
    t.teardown(() => close(server))
    await until(() => !client.isDown(), { what: 'the end of the outage', intervalMs: 5 })
    await pass()
    t.match([...rows.values()], Array(6).fill({ status: 'SENT', attemptCount: 1 }))
  })
}

t.test('one party is enough if no request can be sent, and its events fail at once', async (t) => {
  const { client, lines } = clientOf(t, 'http://127.0.0.1:1')
  await client.lookUpAgain(['PTY-1'])
  t.ok(client.isDown())
  const contacts = await client.lookUp(['PTY-2'])
  t.match(contacts.get('PTY-2'), { error: /during an outage: .*ECONNREFUSED/, costsNoAttempt: true })
  t.match(lines, [{ msg: /is down/ }])
})

t.test('a connection that is not opened in time is no timeout of a party', async (t) => {
  // Listens, but its TLS handshake never ends.
  const url = (await serveTcp(t, () => {})).replace('http:', 'https:')
  const { client } = clientOf(t, url, { deadlineMs: 200 })
  const contact = (await client.lookUp(['a'])).get('a')
  t.match(contact, { error: /was not reached within 0\.2 s/, costsNoAttempt: true })
  await until(() => client.isDown(), { what: 'the outage', intervalMs: 5 })
})
