import type { Socket } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import t from 'tap'
import { clientOf, json, locators, serve, serveTcp } from './server.ts'

const PARTY_COUNT = 200
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
  const body = JSON.stringify({ email: `${party}@example.org` })
  return `HTTP/1.1 200 OK\r\n${header}content-length: ${body.length}\r\n\r\n${body}`
}

function emailsOf(contacts: ReadonlyMap<string, object>): [string, unknown][] {
  return [...contacts].map(([party, contact]) => [party, 'email' in contact ? contact.email : contact])
}

function everyOnesOwn(parties: readonly string[]): [string, unknown][] {
  return parties.map((party) => [party, `${party}@example.org`])
}

function sorted(emails: readonly [string, unknown][]): [string, unknown][] {
  return emails.toSorted(([a], [b]) => (a < b ? -1 : 1))
}

t.test('parties travel together once answers come quickly, each asked for once', async (t) => {
  const reads: number[] = []
  const asked: string[] = []
  const url = await serveReads(t, (parties, socket) => {
    reads.push(parties.length)
    asked.push(...parties)
    socket.write(parties.map((party) => answerOf(party)).join(''))
  })
  const { client } = clientOf(t, url, { connectionCountMax: 4, deadlineMs: 60_000 })
  const parties = locators(PARTY_COUNT)
  t.strictSame(sorted(emailsOf(await client.lookUp(parties))), sorted(everyOnesOwn(parties)))
  t.strictSame(asked.toSorted(), parties.toSorted())
  t.strictSame(reads.slice(0, 4), [1, 1, 1, 1], 'nothing is known yet of how quickly they come')
  t.equal(Math.max(...reads), 8)
  t.ok(reads.length < PARTY_COUNT / 4)
})

t.test('they spread over the connections before they share one', async (t) => {
  const reads: number[] = []
  const url = await serveReads(t, (parties, socket) => {
    reads.push(parties.length)
    socket.write(parties.map((party) => answerOf(party)).join(''))
  })
  const { client } = clientOf(t, url, { connectionCountMax: 4, deadlineMs: 60_000 })
  await client.lookUp(locators(1))
  await client.lookUp(locators(4))
  t.strictSame(reads, [1, 1, 1, 1, 1])
})

t.test('with a pipelining of 1 they never share one', async (t) => {
  const url = await serveReads(t, (parties, socket) => {
    t.equal(parties.length, 1)
    socket.write(parties.map((party) => answerOf(party)).join(''))
  })
  const { client } = clientOf(t, url, { connectionCountMax: 2, pipeliningMax: 1 })
  t.equal((await client.lookUp(locators(50))).size, 50)
})

t.test('where answers take long they never share one', async (t) => {
  const url = await serveReads(t, async (parties, socket) => {
    t.equal(parties.length, 1)
    await delay(30)
    socket.write(parties.map((party) => answerOf(party)).join(''))
  })
  const { client } = clientOf(t, url, { connectionCountMax: 8, deadlineMs: 1_000 })
  t.equal((await client.lookUp(locators(50))).size, 50)
})

t.test('one that hangs keeps nobody else of its convoy from an answer', async (t) => {
  const server = await serve(t, (request, response) => {
    const party = request.url?.split('/').pop()
    if (party !== 'PTY-100') json(response, { email: `${party}@example.org` })
  })
  const { client } = clientOf(t, server.url, { connectionCountMax: 2, deadlineMs: 6_000 })
  const parties = locators(PARTY_COUNT)
  const contacts = await client.lookUp(parties)
  t.match(contacts.get('PTY-100'), { state: 'unresolved', error: /did not answer within 6 s$/ })
  contacts.delete('PTY-100')
  const others = parties.filter((party) => party !== 'PTY-100')
  t.strictSame(sorted(emailsOf(contacts)), sorted(everyOnesOwn(others)))
  t.ok(server.targets.length <= PARTY_COUNT + 16, 'only what was under way is asked for again')
})

for (const [what, spoil] of [
  ['an answer too many', (answers: string[]) => [answers[0], ...answers]],
  ['an answer too few', (answers: string[]) => answers.slice(1)],
  ['something that is no answer', (answers: string[]) => [...answers, 'secret']],
] as const) {
  t.test(`${what} gives nobody the contact of another`, async (t) => {
    let spoiltCount = 0
    const url = await serveReads(t, (parties, socket) => {
      const answers = parties.map((party) => answerOf(party))
      const spoils = parties.length > 1 && spoiltCount++ < 2
      socket.write((spoils ? spoil(answers) : answers).join(''))
    })
    const { client } = clientOf(t, url, { connectionCountMax: 4, deadlineMs: 2_000 })
    const parties = locators(PARTY_COUNT)
    t.strictSame(sorted(emailsOf(await client.lookUp(parties))), sorted(everyOnesOwn(parties)))
    t.ok(spoiltCount > 0)
  })
}

t.test('once a convoy broke, everyone is asked for on their own for a while', async (t) => {
  let together = 0
  const url = await serveReads(t, (parties, socket) => {
    if (parties.length > 1 && together++ === 0) socket.destroy()
    else socket.write(parties.map((party) => answerOf(party)).join(''))
  })
  const { client } = clientOf(t, url, { connectionCountMax: 1, deadlineMs: 60_000 })
  const parties = locators(PARTY_COUNT)
  t.strictSame(sorted(emailsOf(await client.lookUp(parties))), sorted(everyOnesOwn(parties)))
  t.equal(together, 1)
})

t.test('a server that closes after some answers, and says so, is no reason to stop it', async (t) => {
  let together = 0
  const url = await serveReads(t, (parties, socket) => {
    if (parties.length > 1) together++
    const last = together % 5 === 0 && parties.length > 1
    const answers = parties.map((party) => answerOf(party))
    if (last) socket.end(answerOf(parties[0] ?? '', 'connection: close\r\n'))
    else socket.write(answers.join(''))
  })
  const { client } = clientOf(t, url, { connectionCountMax: 1, deadlineMs: 60_000 })
  const parties = locators(PARTY_COUNT)
  t.strictSame(sorted(emailsOf(await client.lookUp(parties))), sorted(everyOnesOwn(parties)))
  t.ok(together > 10, `${together} convoys`)
})

t.test('a server that closes after each answer is asked once for each', async (t) => {
  const server = await serve(t, (request, response) => {
    response.setHeader('connection', 'close')
    json(response, { email: `${request.url?.split('/').pop()}@example.org` })
  })
  const { client } = clientOf(t, server.url, { connectionCountMax: 1, deadlineMs: 60_000 })
  const parties = locators(PARTY_COUNT)
  t.strictSame(sorted(emailsOf(await client.lookUp(parties))), sorted(everyOnesOwn(parties)))
  t.equal(server.targets.length, PARTY_COUNT)
})

t.test('failures of a convoy count one by one', async (t) => {
  const server = await serve(t, (_, response) => {
    if (server.targets.length > 1) response.statusCode = 500
    json(response, {})
  })
  const { client } = clientOf(t, server.url, { connectionCountMax: 1, deadlineMs: 60_000 })
  await client.lookUp(locators(20))
  t.notOk(client.isDown(), '19 of them')
  await client.lookUp(locators(1))
  t.ok(client.isDown())
})
