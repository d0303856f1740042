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
  await until(() => client.isDown())
  const targetCount = server.targets.length
  // Keeps the first of each sample.
  const random = mock.method(Math, 'random', () => 0.999)
  t.teardown(() => random.mock.restore())
  await client.lookUp(['healthy', 'PTY-1'])
  await until(() => !client.isDown())
  t.equal(server.targets[targetCount], '/internal/parties/healthy')
})

// The others mostly wait for a probe, five seconds after the one before.
t.jobs = 8

t.test('20 parties that fail in a row open the circuit: no more requests', async (t) => {
  const server = await serve(t, (_, response) => response.writeHead(500).end())
  const { client, lines } = clientOf(t, server.url, { connectionCountMax: 4 })
  const startedAtMs = performance.now()
  const contacts = await client.lookUp(locators(500))
  t.ok(performance.now() - startedAtMs >= 1_000, 'a second probe confirms the first')
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
  t.ok(server.targets.length <= 25, 'those of the look-up, and two probes')
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
    else json(response, { email: null })
  })
  const { client } = clientOf(t, server.url, { connectionCountMax: 1 })
  await client.lookUp(locators(300))
  t.equal(server.targets.length, 400, 'each 404 twice')
  t.equal(client.isDown(), false)
})

t.test('a renamed field opens it too: no attempt is burnt on what cannot succeed', async (t) => {
  const server = await serve(t, (_, response) => json(response, { mail: 'a@example.org' }))
  const { client } = clientOf(t, server.url)
  const contacts = await client.lookUp(locators(100))
  t.ok(client.isDown())
  t.match(contacts.get('PTY-99'), { error: /circuit open: .*neither email nor phone/, unasked: true })
})

t.test('a service that hangs opens it once its deadline is over', async (t) => {
  const server = await serve(t, () => {})
  const { client } = clientOf(t, server.url, { deadlineMs: 1_000, connectionCountMax: 32 })
  const [first, second] = await Promise.all([client.lookUp(locators(500)), client.lookUp(locators(500))])
  await until(() => client.isDown())
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
    error: 'policy administration is down (circuit open: policy administration did not answer within 1 s)',
    unasked: true,
  })
  t.equal(later.size, 500)
})

t.test('a slow service is not down, and nobody fails for it', async (t) => {
  const server = await serve(t, (_, response) => void setTimeout(json, 900, response, { email: null }))
  const { client, lines } = clientOf(t, server.url, { deadlineMs: 3_000, connectionCountMax: 32 })
  for (let count = 0; count < 2; count++) {
    const contacts = await client.lookUp(locators(500))
    t.ok(contacts.size >= 32 && contacts.size < 500)
    t.ok([...contacts.values()].every(({ state }) => state === 'found'))
    t.notOk(client.isDown())
  }
  t.strictSame(
    lines.filter(({ level }) => level >= 40),
    [],
    'it never was',
  )
})

for (const kind of ['500', 'garbled', 'hang'] as const) {
  t.test(`forty parties that one producer broke (${kind}) open nothing`, async (t) => {
    const server = await serve(t, (request, response) => {
      if (!request.url?.includes('PTY-')) json(response, { email: 'a@example.org' })
      else if (kind === '500') response.writeHead(500).end()
      else if (kind === 'garbled') response.end('<html>')
    })
    const { client, lines } = clientOf(t, server.url, { deadlineMs: 3_000 })
    await client.lookUp(['good'])
    for (let count = 0; count < 3; count++) {
      const lookUp = client.lookUp(locators(40))
      t.match((await client.lookUp(['another'])).get('another'), { state: 'found' })
      const contacts = await lookUp
      t.ok([...contacts.values()].every(({ state }) => state === 'unresolved'))
      t.notOk(client.isDown())
    }
    t.ok(server.targets.includes('/internal/parties/good'), 'a probe asked for one that had an answer')
    t.strictSame(
      lines.filter(({ level }) => level >= 40),
      [],
    )
  })
}

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
  await until(() => client.isDown())
  t.equal(server.targets[21], '/internal/parties/once-good')
  const targetCount = server.targets.length
  t.match((await client.lookUp(['healthy'])).get('healthy'), { state: 'unresolved', unasked: true })
  await until(() => !client.isDown())
  t.equal(server.targets.slice(targetCount).at(-1), '/internal/parties/healthy')
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
    [40, 30, 30],
    'one warning, that it is back, and how it answers',
  )
})

async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await new Promise((resolve) => setTimeout(resolve, 5))
}
