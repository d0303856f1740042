import t from 'tap'
import { clientOf, json, locators, serve } from './server.ts'

const DOWN_500 = 'policy administration is down (circuit open: policy administration answered 500)'

t.test('20 failures in a row open the circuit: no more requests', async (t) => {
  const server = await serve(t, (_, response) => response.writeHead(500).end())
  const { client, lines } = clientOf(t, server.url, { connectionCountMax: 4 })
  const contacts = await client.lookUp(locators(500))
  t.equal(contacts.size, 500)
  t.ok(server.targets.length >= 20 && server.targets.length <= 24, `${server.targets.length} requests`)
  t.strictSame(contacts.get('PTY-0'), { state: 'unresolved', error: 'policy administration answered 500' })
  t.strictSame(contacts.get('PTY-499'), { state: 'unresolved', error: DOWN_500 })
  t.ok(client.isDown())
  t.strictSame((await client.lookUp(['a'])).get('a'), { state: 'unresolved', error: DOWN_500 })
  t.ok(server.targets.length <= 24)
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

for (const connectionCountMax of [4, 64]) {
  t.test(`a hanging service costs one deadline in all, over ${connectionCountMax} connections`, async (t) => {
    const server = await serve(t, () => {})
    const { client } = clientOf(t, server.url, { deadlineMs: 500, connectionCountMax })
    const startedAtMs = performance.now()
    const [first, second] = await Promise.all([client.lookUp(locators(500)), client.lookUp(locators(500))])
    t.ok(performance.now() - startedAtMs < 1_500)
    t.strictSame([first.size, second.size], [500, 500])
    t.ok(client.isDown(), 'known by the time the call returns')
    const openedAtMs = performance.now()
    const later = await client.lookUp(locators(500))
    t.ok(performance.now() - openedAtMs < 200)
    t.strictSame(later.get('PTY-0'), {
      state: 'unresolved',
      error:
        'policy administration is down (circuit open: policy administration did not answer within 0.5 s)',
    })
    t.equal(server.targets.length, connectionCountMax)
  })
}

t.test('it recovers by itself, one probe at a time, with nobody waiting for it', async (t) => {
  let up = false
  const server = await serve(t, (_, response) => {
    if (up) json(response, { email: 'a@example.org' })
    else response.writeHead(503).end()
  })
  const { client, lines } = clientOf(t, server.url)
  await client.lookUp(locators(500))
  const targetCount = server.targets.length
  up = true
  const openedAtMs = performance.now()
  while (client.isDown()) {
    const callAtMs = performance.now()
    await client.lookUp(['a'])
    t.ok(performance.now() - callAtMs < 1_000)
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
  const downMs = performance.now() - openedAtMs
  t.ok(downMs > 4_500 && downMs < 8_000, `back after ${Math.round(downMs)} ms`)
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
