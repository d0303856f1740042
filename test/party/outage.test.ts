import { mock } from 'node:test'
import t from 'tap'
import { clientOf, json, locators, serve } from './server.ts'

const DOWN_500 = 'policy administration is down (circuit open: policy administration answered 500)'

// Alone, for its randomness is everybody's.
await t.test('a healthy party is found behind a broken one that is always asked for after it', async (t) => {
  const server = await serve(t, (request, response) => {
    if (request.url?.includes('PTY-')) response.writeHead(500).end()
    else json(response, { email: 'a@example.org' })
  })
  const { client } = clientOf(t, server.url)
  await client.lookUp(locators(20))
  await until(() => server.targets.length === 21)
  // Keeps the first of each sample.
  const random = mock.method(Math, 'random', () => 0.999)
  t.teardown(() => random.mock.restore())
  await client.lookUp(['healthy', 'PTY-1'])
  await until(() => server.targets.length === 22)
  t.equal(server.targets[21], '/internal/parties/healthy')
  await until(() => !client.isDown())
})

// The others mostly wait for a probe, five seconds after the one before.
t.jobs = 8

t.test('20 failures in a row open the circuit: no more requests', async (t) => {
  const server = await serve(t, (_, response) => response.writeHead(500).end())
  const { client, lines } = clientOf(t, server.url, { connectionCountMax: 4 })
  const contacts = await client.lookUp(locators(500))
  t.equal(contacts.size, 500)
  t.ok(server.targets.length >= 20 && server.targets.length <= 25, `${server.targets.length} requests`)
  t.strictSame(contacts.get('PTY-0'), {
    state: 'unresolved',
    error: 'policy administration answered 500',
    unasked: false,
  })
  t.strictSame(contacts.get('PTY-499'), { state: 'unresolved', error: DOWN_500, unasked: true })
  t.ok(client.isDown())
  t.strictSame((await client.lookUp(['a'])).get('a'), { state: 'unresolved', error: DOWN_500, unasked: true })
  t.ok(server.targets.length <= 25, 'those of the look-up, and the first probe')
  t.strictSame(
    lines.map((line) => line.level),
    [40],
    'one warning',
  )
})

t.test('a service that refuses connections opens it too', async (t) => {
  const { client } = clientOf(t, 'http://127.0.0.1:1')
  const contacts = await client.lookUp(locators(500))
  t.equal(contacts.size, 500)
  t.ok(client.isDown())
})

t.test('a garbling service opens it too', async (t) => {
  const server = await serve(t, (_, response) => void response.end('<html>'))
  const { client } = clientOf(t, server.url)
  await client.lookUp(locators(100))
  t.ok(client.isDown())
})

t.test('answers about one party, and failures with an answer between them, do not open it', async (t) => {
  const server = await serve(t, (request, response) => {
    const number = Number(request.url?.split('-').pop())
    if (number < 100) response.writeHead(404).end()
    else if (number < 200) response.writeHead(400).end()
    else if (number % 20 !== 0) response.writeHead(500).end()
    else json(response, {})
  })
  const { client } = clientOf(t, server.url, { connectionCountMax: 1 })
  await client.lookUp(locators(300))
  t.equal(server.targets.length, 300)
  t.equal(client.isDown(), false)
})

for (const [connectionCountMax, deadlineCount] of [
  [4, 5],
  [32, 1],
] as const) {
  t.test(
    `a hanging service costs the deadline ${deadlineCount} times over ${connectionCountMax} connections`,
    async (t) => {
      const server = await serve(t, () => {})
      const { client } = clientOf(t, server.url, { deadlineMs: 500, connectionCountMax })
      for (let count = 1; count <= deadlineCount; count++) {
        t.notOk(client.isDown())
        const startedAtMs = performance.now()
        const [first, second] = await Promise.all([
          client.lookUp(locators(500)),
          client.lookUp(locators(500)),
        ])
        t.ok(performance.now() - startedAtMs < 50_000, 'one after the other they would take a minute')
        t.strictSame([first.size, second.size], [500, 500])
      }
      t.ok(client.isDown(), 'known by the time the call returns')
      const later = await client.lookUp(locators(500))
      t.strictSame(later.get('PTY-0'), {
        state: 'unresolved',
        error:
          'policy administration is down (circuit open: policy administration did not answer within 0.5 s)',
        unasked: true,
      })
      // The second call may have the connections of the first, whose deadline ends a moment sooner.
      const requestCountMax = 2 * connectionCountMax * deadlineCount + 1
      t.ok(server.targets.length <= requestCountMax, `${server.targets.length} requests, one a probe`)
    },
  )
}

t.test(
  'a slow service is not down: who is not asked for in time is told so and counts neither way',
  async (t) => {
    const server = await serve(t, (_, response) => void setTimeout(json, 900, response, {}))
    const { client, lines } = clientOf(t, server.url, { deadlineMs: 3_000, connectionCountMax: 32 })
    for (let count = 0; count < 2; count++) {
      const contacts = [...(await client.lookUp(locators(500))).values()]
      t.ok(contacts.some(({ state }) => state === 'found'))
      const errors = contacts.flatMap((contact) => (contact.state === 'unresolved' ? [contact] : []))
      const unasked = errors.filter((contact) => contact.unasked)
      t.ok(unasked.length > 300, `${unasked.length} of 500 were not asked for`)
      t.strictSame(
        new Set(unasked.map(({ error }) => error)),
        new Set(['policy administration was too slow: not asked within 3 s']),
      )
      t.strictSame(
        errors.find(({ unasked }) => !unasked)?.error,
        'policy administration was too slow: asked late, and not answered within 3 s',
      )
      t.notOk(client.isDown())
    }
    t.strictSame(lines, [], 'it never was')
  },
)

t.test('20 broken parties keep nobody else from being found', async (t) => {
  const server = await serve(t, (request, response) => {
    if (request.url?.includes('PTY-')) response.writeHead(500).end()
    else json(response, { email: 'a@example.org' })
  })
  const { client, lines } = clientOf(t, server.url)
  await client.lookUp(['good'])
  await client.lookUp(locators(20))
  await until(() => !client.isDown())
  t.match((await client.lookUp(['another'])).get('another'), { state: 'found' })
  t.match(lines[0]?.msg, /is down/, 'the circuit was open')
  t.equal(server.targets[21], '/internal/parties/good', 'the probe asks for one that had an answer')
})

t.test('probes go on to who is asked for now where the last good party has become broken', async (t) => {
  let broken = false
  const server = await serve(t, (request, response) => {
    if (broken && !request.url?.endsWith('healthy')) response.writeHead(500).end()
    else json(response, { email: 'a@example.org' })
  })
  const { client } = clientOf(t, server.url)
  await client.lookUp(['once-good'])
  broken = true
  await client.lookUp(locators(20))
  await until(() => server.targets.length === 22)
  t.ok(client.isDown())
  t.match((await client.lookUp(['healthy'])).get('healthy'), { state: 'unresolved', unasked: true })
  await until(() => !client.isDown())
  t.strictSame(server.targets.slice(21), ['/internal/parties/once-good', '/internal/parties/healthy'])
})

t.test('it recovers by itself, one probe at a time, with nobody waiting for it', async (t) => {
  let up = false
  const server = await serve(t, (_, response) => {
    if (up) json(response, { email: 'a@example.org' })
    else response.writeHead(503).end()
  })
  const { client, lines } = clientOf(t, server.url)
  await client.lookUp(locators(500))
  await until(() => lines.some((line) => line.msg.includes('still down')))
  const targetCount = server.targets.length
  up = true
  const openedAtMs = performance.now()
  while (client.isDown()) {
    await client.lookUp(['a'])
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
  const downMs = performance.now() - openedAtMs
  t.ok(downMs > 4_500, `back after ${Math.round(downMs)} ms`)
  t.strictSame(
    server.targets.slice(targetCount),
    ['/internal/parties/a'],
    'one probe, for a party last asked for',
  )
  t.strictSame((await client.lookUp(['b'])).get('b'), { state: 'found', email: 'a@example.org', phone: null })
  t.strictSame(
    lines.filter((line) => line.level >= 30).map((line) => line.level),
    [40, 30],
    'one warning, one information',
  )
})

async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await new Promise((resolve) => setTimeout(resolve, 5))
}
