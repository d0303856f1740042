import type { Socket } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import t from 'tap'
import { startDuplicating } from './duplicating-server.ts'
import { clientOf, json, locators, serve, serveTcp } from './server.ts'

const PARTY_COUNT = 200
/** So many contacts must have named their party before requests share a connection. */
const NAMED_COUNT = 32
const WRONG_PARTY = 'policy administration answered for another party'
const REQUEST = /GET \/internal\/parties\/(\S+) HTTP\/1\.1\r\n(?:.+\r\n)*\r\n/g

/** A server by hand, which is told of the parties that one read asks for, and answers as it likes. */
function serveReads(
  t: Parameters<typeof serveTcp>[0],
  answer: (parties: readonly string[], socket: Socket) => void,
) {
  return serveTcp(t, (socket) =>
    socket.setEncoding('latin1').on('data', (part) =>
      answer(
        [...String(part).matchAll(REQUEST)].map(([, party]) => party ?? ''),
        socket,
      ),
    ),
  )
}

function answerOf(party: string, header = ''): string {
  const body = JSON.stringify({ partyLocator: party, email: `${party}@example.org` })
  return `HTTP/1.1 200 OK\r\n${header}content-length: ${body.length}\r\n\r\n${body}`
}

const NOT_FOUND = 'HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n'

/** Those who did not get their own address. */
function strangers(contacts: ReadonlyMap<string, object>): [string, object][] {
  return [...contacts].filter(
    ([party, contact]) => !('email' in contact) || contact.email !== `${party}@example.org`,
  )
}

async function warm(client: ReturnType<typeof clientOf>['client']): Promise<void> {
  await client.lookUp(Array.from({ length: NAMED_COUNT }, (_, i) => `WARM-${i}`))
}

t.test('parties share connections once enough answers named theirs, each asked for once', async (t) => {
  const reads: number[] = []
  const asked: string[] = []
  const url = await serveReads(t, (parties, socket) => {
    reads.push(parties.length)
    asked.push(...parties)
    socket.write(parties.map((party) => answerOf(party)).join(''))
  })
  const { client, lines } = clientOf(t, url, { connectionCountMax: 4, deadlineMs: 60_000 })
  t.equal(client.naming(), 'unknown')
  await warm(client)
  t.ok(reads.every((count) => count === 1))
  t.equal(client.naming(), 'named')
  const parties = locators(PARTY_COUNT)
  const contacts = await client.lookUp(parties)
  t.equal(contacts.size, PARTY_COUNT)
  t.strictSame(strangers(contacts), [])
  t.strictSame(asked.slice(NAMED_COUNT).toSorted(), parties.toSorted())
  t.equal(Math.max(...reads), 8)
  t.strictSame(
    lines.map(({ msg }) => msg),
    ['policy administration names the party in its answers: each is checked, and look-ups share connections'],
  )
})

t.test('they spread over the connections before they share one', async (t) => {
  const reads: number[] = []
  const url = await serveReads(t, (parties, socket) => {
    reads.push(parties.length)
    socket.write(parties.map((party) => answerOf(party)).join(''))
  })
  const { client } = clientOf(t, url, { connectionCountMax: 4, deadlineMs: 60_000 })
  await warm(client)
  await client.lookUp(locators(4))
  t.ok(reads.every((count) => count === 1))
})

for (const [what, names, pipeliningMax] of [
  ['where answers name nobody', false, 8],
  ['with a pipelining of 1', true, 1],
] as const) {
  t.test(`${what} they never share one`, async (t) => {
    const url = await serveReads(t, (parties, socket) => {
      t.equal(parties.length, 1)
      const answer = parties.map((party) => answerOf(party)).join('')
      socket.write(names ? answer : answer.replace('partyLocator', 'partyAccount'))
    })
    const { client } = clientOf(t, url, { connectionCountMax: 2, pipeliningMax })
    t.strictSame(strangers(await client.lookUp(locators(PARTY_COUNT))), [])
    t.equal(client.naming(), names ? 'named' : 'unnamed')
  })
}

t.test('where answers name their party, no other is asked for behind one that names nobody', async (t) => {
  const late = new Map<Socket, string>()
  const url = await serveReads(t, ([party = ''], socket) => {
    // What came too late for the party before is taken for the answer to this one.
    socket.write(late.get(socket) ?? '')
    if (party === 'gone') late.set(socket, answerOf(party))
    socket.write(party === 'gone' ? NOT_FOUND : answerOf(party))
  })
  const { client } = clientOf(t, url, { connectionCountMax: 1, pipeliningMax: 1 })
  await client.lookUp(['a'])
  const contacts = await client.lookUp(['gone', 'b', 'c'])
  t.strictSame(contacts.get('gone'), { state: 'not found' })
  contacts.delete('gone')
  t.strictSame(strangers(contacts), [])
})

t.test('one contact that names nobody ends the sharing until enough did again', async (t) => {
  let most = 0
  const url = await serveReads(t, (parties, socket) => {
    most = Math.max(most, parties.length)
    const answers = parties.map((party) => answerOf(party))
    socket.write(
      answers
        .map((answer, i) => (parties[i] === 'bare' ? answer.replace('partyLocator', 'partyAccount') : answer))
        .join(''),
    )
  })
  const { client } = clientOf(t, url, { connectionCountMax: 2 })
  await warm(client)
  t.match((await client.lookUp(['bare'])).get('bare'), { email: 'bare@example.org' })
  most = 0
  await client.lookUp(locators(NAMED_COUNT - 4))
  t.equal(most, 1)
  await client.lookUp(locators(PARTY_COUNT))
  t.ok(most > 1)
})

t.test('the place of the name can be another, and an answer may name the party there only', async (t) => {
  const server = await serve(t, (request, response) => {
    const party = request.url?.split('/').pop()
    json(response, { locator: 'CONTACT-1', of: { party: party === 'PTY-1' ? 'PTY-2' : party }, email: null })
  })
  const { client } = clientOf(t, server.url, { echo: ['/of/party'] })
  const contacts = await client.lookUp(locators(2))
  t.match(contacts.get('PTY-0'), { state: 'found' })
  t.match(contacts.get('PTY-1'), { state: 'unresolved', error: WRONG_PARTY })
  const { client: unchecked } = clientOf(t, server.url, { echo: [] })
  t.match((await unchecked.lookUp(['PTY-1'])).get('PTY-1'), { state: 'found' })
})

t.test('the name is compared character by character, on every status that has one', async (t) => {
  const names: Record<string, unknown> = {
    'PTY-0': 'pty-0',
    'PTY-1': 'PTY-1 ',
    'PTY-2': 'PTY-2',
    'PTY-3': 3,
    æ: 'æ',
  }
  const server = await serve(t, (request, response) => {
    const party = decodeURIComponent(request.url?.split('/').pop() ?? '')
    if (party.startsWith('gone')) response.statusCode = 404
    json(response, { locator: party === 'gone-1' ? 'gone-2' : (names[party] ?? party), email: null })
  })
  const { client } = clientOf(t, server.url)
  const contacts = await client.lookUp([...Object.keys(names), 'gone-1', 'gone-3'])
  const states = Object.fromEntries([...contacts].map(([party, { state }]) => [party, state]))
  t.strictSame(states, {
    'PTY-0': 'unresolved',
    'PTY-1': 'unresolved',
    'PTY-2': 'found',
    'PTY-3': 'found',
    æ: 'found',
    'gone-1': 'unresolved',
    'gone-3': 'not found',
  })
  t.equal(server.targets.length, 7, 'a 404 that names its party needs no second one')
})

t.test('a 404 that names nobody counts only from a connection that had no other request', async (t) => {
  const firsts: boolean[] = []
  const url = await serveTcp(t, (socket) => {
    let requestCount = 0
    socket.setEncoding('latin1').on('data', (part) => {
      requestCount++
      if (String(part).includes('gone')) {
        firsts.push(requestCount === 1)
        // The first time it is the answer to somebody else.
        socket.write(requestCount === 1 ? answerOf('gone') : NOT_FOUND)
      } else socket.write(answerOf('PTY'))
    })
  })
  const { client } = clientOf(t, url, { connectionCountMax: 1, echo: [] })
  await client.lookUp(['PTY'])
  t.match((await client.lookUp(['gone'])).get('gone'), { email: 'gone@example.org' })
  t.strictSame(firsts, [false, true])
})

for (const [what, spoil] of [
  ['an answer too many', (answers: string[]) => [answers[0], ...answers]],
  ['a 404 too many', (answers: string[]) => [NOT_FOUND, ...answers]],
  ['an answer too few', (answers: string[]) => answers.slice(1)],
  ['two answers in each other’s place', ([first, second, ...others]: string[]) => [second, first, ...others]],
  ['something that is no answer', (answers: string[]) => [...answers, 'secret']],
] as const) {
  t.test(`${what} gives nobody the contact of another, and silences nobody`, async (t) => {
    let spoiltCount = 0
    const url = await serveReads(t, (parties, socket) => {
      const answers = parties.map((party) => answerOf(party))
      const spoils = parties.length > 1 && spoiltCount++ < 2
      socket.write((spoils ? spoil(answers) : answers).join(''))
    })
    const { client, lines } = clientOf(t, url, { connectionCountMax: 4 })
    await warm(client)
    const contacts = await client.lookUp(locators(PARTY_COUNT))
    t.equal(contacts.size, PARTY_COUNT)
    const others = strangers(contacts).map(([, contact]) => contact)
    for (const contact of others)
      t.match(contact, { state: 'unresolved', error: WRONG_PARTY, wrongParty: true })
    t.equal(others.length, lines.filter(({ msg }) => msg.startsWith(WRONG_PARTY)).length)
    t.ok(others.length <= 2, 'only who was answered wrongly; those behind them were asked for again')
    t.equal(spoiltCount > 2, true)
    t.notOk(client.isDown())
  })
}

for (const delayMs of [0.1, 1, 2]) {
  t.test(
    `one answer in 500 sent again ${delayMs} ms later misleads nobody where answers name theirs`,
    async (t) => {
      const server = await startDuplicating(true, delayMs)
      t.teardown(server.stop)
      const { client } = clientOf(t, server.url, { connectionCountMax: 32, pipeliningMax: 16 })
      const parties = Array.from({ length: 3_000 }, (_, i) => (i % 20 === 0 ? `unknown-${i}` : `PTY-${i}`))
      const contacts = await client.lookUp(parties)
      const wrong = strangers(contacts).filter(([party, contact]) => {
        const { state } = contact as { state: string }
        return state === 'found' || (state === 'not found' && party.startsWith('PTY-'))
      })
      t.strictSame(wrong, [])
      t.ok(contacts.size > 2_000)
    },
  )
}

t.test('one that hangs keeps nobody else on its connection from an answer', async (t) => {
  const server = await serve(t, (request, response) => {
    const party = request.url?.split('/').pop()
    if (party !== 'PTY-100') json(response, { locator: party, email: `${party}@example.org` })
  })
  const { client } = clientOf(t, server.url, { connectionCountMax: 2, deadlineMs: 5_000 })
  await warm(client)
  const contacts = await client.lookUp(locators(PARTY_COUNT))
  t.equal(contacts.size, PARTY_COUNT)
  t.match(strangers(contacts), [['PTY-100', { error: /did not answer within 5 s$/ }]])
  t.ok(server.targets.length <= NAMED_COUNT + PARTY_COUNT + 16, 'only what was under way is asked for again')
})

for (const [how, end] of [
  [
    'and says so',
    (socket: Socket, party: string) => void socket.end(answerOf(party, 'connection: close\r\n')),
  ],
  ['without a word', (socket: Socket) => void socket.destroy()],
] as const) {
  t.test(`a server that closes after some answers, ${how}, leaves nobody unanswered`, async (t) => {
    let together = 0
    const url = await serveReads(t, async (parties, socket) => {
      if (parties.length > 1 && ++together % 5 === 0) return end(socket, parties[0] ?? '')
      await delay(1)
      socket.write(parties.map((party) => answerOf(party)).join(''))
    })
    const { client } = clientOf(t, url, { connectionCountMax: 1, deadlineMs: 60_000 })
    await warm(client)
    const contacts = await client.lookUp(locators(PARTY_COUNT))
    t.equal(contacts.size, PARTY_COUNT)
    t.strictSame(strangers(contacts), [])
    t.ok(together > 10)
  })
}

t.test('a server that closes after each answer is asked once for each', async (t) => {
  const server = await serve(t, (request, response) => {
    response.setHeader('connection', 'close')
    const party = request.url?.split('/').pop()
    json(response, { locator: party, email: `${party}@example.org` })
  })
  const { client } = clientOf(t, server.url, { connectionCountMax: 1, pipeliningMax: 1, deadlineMs: 60_000 })
  t.strictSame(strangers(await client.lookUp(locators(PARTY_COUNT))), [])
  t.equal(server.targets.length, PARTY_COUNT)
})
