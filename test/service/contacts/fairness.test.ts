import type { IncomingMessage, ServerResponse } from 'node:http'
import t from 'tap'
import type { Contact } from '../../../src/service/decide/party/contact.ts'
import { clientOf, json, locators, serve } from './server.ts'

// With many defects a look-up would wait without end.
t.setTimeout(90_000)

const HUNG = 'policy administration was not asked: a recent look-up of this party timed out'

function answerAll(request: IncomingMessage, response: ServerResponse): void {
  const party = request.url?.split('/').pop() ?? ''
  if (!party.startsWith('hanging')) json(response, { email: `${party}@example.org` })
}

function hangers(count: number, group = 0): string[] {
  return Array.from({ length: count }, (_, i) => `hanging-${group}-${i}`)
}

function statesOf(contacts: ReadonlyMap<string, Contact>): Record<string, number> {
  const counts: Record<string, number> = {}
  for (const { state } of contacts.values()) counts[state] = (counts[state] ?? 0) + 1
  return counts
}

// Alone, since it stops the process.
await t.test('unread answers of a stalled process do not count as silence', async (t) => {
  const server = await serve(t, ({ url = '' }, response) => {
    if (url.includes('slow')) setTimeout(json, 50, response, { email: null })
    else json(response, { email: null })
  })
  const { client } = clientOf(t, server.url, { connectionCountMax: 8, deadlineMs: 12_000 })
  const lookUp = client.lookUp([...Array.from({ length: 6 }, (_, i) => `slow-${i}`), ...locators(40)])
  await client.lookUp(['later'])
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1_600)
  t.strictSame(statesOf(await lookUp), { found: 46 })
})

// The others mostly wait. Their deadlines outlast the seconds for which a busy machine stops a process.
t.jobs = 8

t.test('a deadline counts from the request, and parties not requested are left out', async (t) => {
  const server = await serve(t, (_, response) => void setTimeout(json, 1_000, response, { email: null }))
  const { client } = clientOf(t, server.url, { connectionCountMax: 4, deadlineMs: 10_000 })
  const parties = locators(100)
  for (let start = 0, round = 0; round < 2; round++) {
    const contacts = await client.lookUp(parties.slice(start))
    t.strictSame(
      [...contacts.keys()].toSorted(),
      parties.slice(start, start + contacts.size).toSorted(),
      'the first ones',
    )
    t.ok(
      contacts.size >= 4 && contacts.size <= 24,
      `${contacts.size}: connections by the time an answer takes`,
    )
    t.strictSame(statesOf(contacts), { found: contacts.size }, 'nobody failed for waiting')
    start += contacts.size
  }
})

t.test('each call requests its first party, however many slow calls there are', async (t) => {
  const server = await serve(t, (_, response) => void setTimeout(json, 3_200, response, { email: null }))
  const { client } = clientOf(t, server.url, { connectionCountMax: 1, deadlineMs: 6_000 })
  const calls = Array.from({ length: 3 }, (_, i) => client.lookUp([`a-${i}`, '..', `b-${i}`, `c-${i}`]))
  for (const [i, contacts] of (await Promise.all(calls)).entries())
    t.match(contacts.get(`a-${i}`), { state: 'found' })
})

t.test('a party that hung is not requested by look-ups, and separately by the retry', async (t) => {
  let isBack = false
  const server = await serve(t, (request, response) => {
    if (isBack) json(response, { email: 'a@example.org' })
    else answerAll(request, response)
  })
  const { client } = clientOf(t, server.url, { connectionCountMax: 4, deadlineMs: 12_000 })
  t.match((await client.lookUp(['hanging-0-0', 'PTY-0'])).get('hanging-0-0'), {
    state: 'unresolved',
    error: 'policy administration did not answer within 12 s',
    costsNoAttempt: false,
  })
  const contacts = await client.lookUp(['hanging-0-0', ...locators(50)])
  t.strictSame(contacts.get('hanging-0-0'), { state: 'unresolved', error: HUNG, costsNoAttempt: true })
  t.strictSame(statesOf(contacts), { unresolved: 1, found: 50 })
  t.match((await client.lookUpAgain(['hanging-0-0'])).get('hanging-0-0'), {
    error: 'policy administration did not answer within 2.4 s',
    costsNoAttempt: false,
  })
  isBack = true
  t.match((await client.lookUpAgain(['hanging-0-0'])).get('hanging-0-0'), { state: 'found' })
  t.match(
    (await client.lookUp(['hanging-0-0'])).get('hanging-0-0'),
    { state: 'found' },
    'and it is trusted again',
  )
})

t.test('3,000 hanging parties do not block 300 healthy ones for long', async (t) => {
  const server = await serve(t, answerAll)
  const { client } = clientOf(t, server.url, { connectionCountMax: 32, deadlineMs: 16_000 })
  await client.lookUp(['good'])
  const floods = [0, 1, 2].map((group) => client.lookUp(hangers(1_000, group)))
  let isFloodOver = false
  void Promise.race(floods).then(() => {
    isFloodOver = true
  })
  t.strictSame(statesOf(await client.lookUp(locators(300))), { found: 300 })
  t.notOk(isFloodOver, 'they wait for none of those that hang')
  const askedCounts = (await Promise.all(floods)).map(({ size }) => size)
  const askedCount = askedCounts.reduce((sum, count) => sum + count, 0)
  t.ok(askedCount > 2 * 32, `${askedCounts} were asked for: more than one for each connection`)
  t.notOk(client.isDown(), 'others are answered')
})

t.test('a free connection goes to the call with the fewest requests in flight', async (t) => {
  const held: ServerResponse[] = []
  /** How many hung when each of the others arrived. */
  const heldCounts = new Set<number>()
  const server = await serve(t, (request, response) => {
    if (request.url?.includes('hanging')) return void held.push(response)
    heldCounts.add(held.length)
    json(response, { email: null })
  })
  // On a busy machine those that hang must not time out in between.
  const { client } = clientOf(t, server.url, { connectionCountMax: 4, deadlineMs: 600_000 })
  const hanging = client.lookUp(hangers(20))
  while (held.length < 4) await turn()
  const healthy = client.lookUp(locators(50))
  json(held[0] as ServerResponse, { email: null })
  t.strictSame(statesOf(await healthy), { found: 50 })
  t.strictSame([...heldCounts], [4])
  await Promise.all([client.close(), t.rejects(hanging)])
})

t.test('parties that timed out recently use a quarter of the connections', async (t) => {
  const server = await serve(t, answerAll)
  // Those that timed out have a fifth of it: a process that stands still for a moment must not end the first six.
  const { client } = clientOf(t, server.url, { connectionCountMax: 24, deadlineMs: 8_000 })
  await client.lookUp(['good'])
  await client.lookUp(hangers(24))
  while (server.targets.at(-1) !== '/internal/parties/good') await turn()
  const targetCount = server.targets.length
  const lookUp = client.lookUpAgain(hangers(24))
  while (server.targets.length < targetCount + 6) await turn()
  // Longer than a seventh request would take to arrive.
  for (let i = 0; i < 20; i++) await turn()
  t.equal(server.targets.length, targetCount + 6)
  t.strictSame(statesOf(await lookUp), { unresolved: 24 })
  t.match((await client.lookUp(['last'])).get('last'), { state: 'found' })
  t.notOk(server.targets.slice(targetCount).includes('/internal/parties/good'), 'no probe')
})

t.test('slow parties keep a quarter of the connections while others wait', async (t) => {
  const server = await serve(t, ({ url = '' }, response) => {
    setTimeout(json, url.includes('slow') ? 3_000 : 60, response, { email: null })
  })
  const { client } = clientOf(t, server.url, { connectionCountMax: 8, deadlineMs: 20_000 })
  const contacts = await client.lookUp(['slow-0', 'slow-1', ...locators(400)])
  for (const slow of ['slow-0', 'slow-1']) t.match(contacts.get(slow), { state: 'found' })
})

t.test('no request is ended while all of them wait', async (t) => {
  const held: ServerResponse[] = []
  let isPaused = false
  const server = await serve(t, (_, response) => {
    if (isPaused) held.push(response)
    else json(response, { email: null })
  })
  const { client } = clientOf(t, server.url, { connectionCountMax: 8, deadlineMs: 16_000 })
  await client.lookUp(locators(10))
  isPaused = true
  const lookUp = client.lookUp(locators(100))
  // Longer than twice the slowest answer, even on a busy machine.
  await new Promise((resolve) => setTimeout(resolve, 4_000))
  isPaused = false
  for (const response of held) json(response, { email: null })
  t.strictSame(statesOf(await lookUp), { found: 100 })
})

function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}
