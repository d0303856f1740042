import { spawn } from 'node:child_process'
import { once } from 'node:events'
import type { ServerResponse } from 'node:http'
import { text } from 'node:stream/consumers'
import { setTimeout as delay } from 'node:timers/promises'
import { gzipSync } from 'node:zlib'
import t from 'tap'
import { ADDRESSES, mapAddresses } from '../../../src/service/decide/party/channel.ts'
import type { Contact } from '../../../src/service/decide/party/contact.ts'
import { until } from '../../stack/until.ts'
import { ADDRESS_PLACES, aFound, anAnswered } from '../build.ts'
import { clientOf, json, locators, serve, serveTcp } from './server.ts'

const FOUND = anAnswered({ email: 'a@example.com', phone: '+45 1' })
const NOTHING_ON_FILE = aFound({ email: null })
const MALFORMED = 'policy administration answered 200 with a body that is not a JSON object'
const NO_TEXT = `policy administration answered 200 with an ${ADDRESSES.join(' or ')} that is neither a string nor null`
const CONTROL = `policy administration answered 200 with an ${ADDRESSES.join(' or ')} with control characters`
const withoutAddress = (fields: string) =>
  unresolved(
    `policy administration answered 200 without an address: neither ${ADDRESSES.map((address) => `/${address}`).join(' nor ')} is there, ${fields}`,
    'NO_ADDRESS',
  )
const BROKEN_OFF = 'policy administration broke off its answer (UND_ERR_SOCKET)'
const TOO_LARGE = 'policy administration answered with more than 64 kB (UND_ERR_RES_EXCEEDED_MAX_SIZE)'
const UNANSWERED = 'policy administration did not answer (UND_ERR_SOCKET)'

/** A connection that is lost says nothing about the party. */
function lost(error: string, code: string): Contact {
  return { state: 'unresolved', error, costsNoAttempt: true, codes: [code] }
}

function unresolved(error: string, ...codes: readonly string[]): Contact {
  return { state: 'unresolved', error, costsNoAttempt: false, ...(codes.length > 0 && { codes }) }
}

function answerFound(response: ServerResponse): void {
  json(response, { email: FOUND.email, phone: FOUND.phone })
}

const BODIES: [title: string, body: string | Buffer, contact: Contact][] = [
  ['both addresses', '{"email":"a@example.com","phone":"+45 1"}', FOUND],
  ['other fields as well', '{"name":"x","email":"a@example.com","phone":"+45 1","__proto__":{}}', FOUND],
  ['addresses with blanks around', '{"email":" a@example.com\\t","phone":"\\n+45 1 "}', FOUND],
  ['null email', '{"email":null,"phone":"+45 1"}', { ...FOUND, email: null }],
  ['blank phone', '{"email":"a@example.com","phone":" \\t\\n"}', { ...FOUND, phone: null }],
  ['empty email', '{"email":"","phone":"+45 1"}', { ...FOUND, email: null }],
  ['one key alone', '{"phone":null}', anAnswered({ phone: null })],
  ['an empty object', '{}', withoutAddress('nor any other field')],
  [
    'renamed fields',
    '{"emailAddress":"a@example.com","mobile":"+45 1"}',
    withoutAddress('but /emailAddress, /mobile'),
  ],
  [
    'a wrapper',
    '{"data":{"email":"a@example.com","phone":null}}',
    withoutAddress('but /data/email, /data/phone'),
  ],
  [
    'data as keys',
    '{"a@example.com":{"+45 1":1,"":2},"45":[{"x":3}]}',
    withoutAddress('but /…/…/x, /…/…, /…/…'),
  ],
  [
    'many fields',
    `{${Array.from({ length: 200 }, (_, i) => `"f${i}":{"a":{"b":{"c":{"d":0}}}}`)}}`,
    withoutAddress(`but ${Array.from({ length: 10 }, (_, i) => `/f${i}/a/b/c`).join(', ')}, …`),
  ],
  [
    'inherited-looking fields',
    '{"__proto__":{"email":"b@example.org"}}',
    withoutAddress('but /__proto__/email'),
  ],
  ['a number as phone', '{"email":"a@example.com","phone":45}', unresolved(NO_TEXT, 'NO_ADDRESS')],
  ['an object as email', '{"email":{},"phone":null}', unresolved(NO_TEXT, 'NO_ADDRESS')],
  ['a boolean as email', '{"email":false}', unresolved(NO_TEXT, 'NO_ADDRESS')],
  [
    'a line break in an email',
    '{"email":"a@example.com\\r\\nBcc: b@example.com"}',
    unresolved(CONTROL, 'NO_ADDRESS'),
  ],
  ['a line separator in a phone', '{"phone":"+45\\u20281"}', unresolved(CONTROL, 'NO_ADDRESS')],
  ['an array', '[]', unresolved(MALFORMED, 'NO_JSON')],
  ['null', 'null', unresolved(MALFORMED, 'NO_JSON')],
  ['a string', '"a@example.com"', unresolved(MALFORMED, 'NO_JSON')],
  ['no body', '', unresolved(MALFORMED, 'NO_JSON')],
  ['broken JSON', '{"email":"a@example.com"', unresolved(MALFORMED, 'NO_JSON')],
  ['HTML', '<html>maintenance</html>', unresolved(MALFORMED, 'NO_JSON')],
  [
    'invalid UTF-8',
    Buffer.concat([Buffer.from('{"email":"'), Buffer.from([0xc3, 0x28]), Buffer.from('"}')]),
    unresolved(MALFORMED, 'NO_JSON'),
  ],
]

t.test('a 200 is read strictly', async (t) => {
  const server = await serve(t, (request, response) => {
    const index = Number(request.url?.split('/').pop())
    response.end(BODIES[index]?.[1])
  })
  const { client } = clientOf(t, server.url)
  const contacts = await client.lookUp(BODIES.map((_, index) => `${index}`))
  for (const [index, [title, , contact]] of BODIES.entries())
    t.strictSame(contacts.get(`${index}`), contact, title)
  t.equal(contacts.size, BODIES.length)
})

t.test('a body that arrives in pieces, cut inside a character, is joined', async (t) => {
  const body = Buffer.from('{"email":"æ@example.org","phone":null}')
  const server = await serve(t, async (_, response) => {
    response.write(body.subarray(0, 11))
    await delay(20)
    response.end(body.subarray(11))
  })
  const { client } = clientOf(t, server.url)
  t.strictSame((await client.lookUp(['a'])).get('a'), anAnswered({ email: 'æ@example.org', phone: null }))
})

t.test('every other status names itself, and a 404 means not found', async (t) => {
  const server = await serve(t, (request, response) => {
    response.statusCode = Number(request.url?.split('/').pop())
    response.setHeader('location', '/elsewhere')
    response.end(response.statusCode === 204 ? undefined : 'secret@example.org')
  })
  const { client } = clientOf(t, server.url)
  const statuses = ['204', '206', '301', '302', '307', '400', '401', '403', '404', '410', '429', '500', '503']
  const contacts = await client.lookUp(statuses)
  for (const status of statuses) {
    const refusal =
      { 401: ': a credential is missing or refused', 429: ': its rate limit is reached' }[status] ?? ''
    const hint = status.startsWith('3') ? ' (redirects are not followed)' : refusal
    const reason = status.startsWith('5') ? `had an error (HTTP ${status})` : `answered ${status}${hint}`
    t.strictSame(
      contacts.get(status),
      status === '404'
        ? { state: 'not found' }
        : {
            ...unresolved(`policy administration ${reason}`, `HTTP_${status}`),
            costsNoAttempt: ['401', '429'].includes(status),
          },
    )
  }
  t.equal(server.targets.length, statuses.length, 'no redirect is followed')
})

const BREAKING: Record<string, (response: ServerResponse) => unknown> = {
  'mid-body': (response) => response.writeHead(200, { 'content-length': 100 }).write('{"email":"secret@'),
  'mid-chunks': (response) => response.writeHead(200).write('{"email":"secret@'),
  'mid-body of a 500': (response) => response.writeHead(500, { 'content-length': 100 }).write('secret'),
}
const ANSWERS: Record<string, [answer: (response: ServerResponse) => unknown, contact: Contact]> = {
  none: [(response) => response.destroy(), lost(UNANSWERED, 'UND_ERR_SOCKET')],
  oversized: [
    (response) => json(response, { email: 'x'.repeat(10_000_000) }),
    unresolved(TOO_LARGE, 'UND_ERR_RES_EXCEEDED_MAX_SIZE'),
  ],
  'oversized 404': [
    (response) => response.writeHead(404).end('x'.repeat(10_000_000)),
    unresolved(TOO_LARGE, 'UND_ERR_RES_EXCEEDED_MAX_SIZE'),
  ],
  'just fits': [(response) => response.end('{"email":null}'.padEnd(64 * 1024)), anAnswered({ email: null })],
}

t.test('a broken answer is unresolved, with its reason', async (t) => {
  const server = await serve(t, ({ url = '' }, response) => {
    const kind = decodeURIComponent(url.split('/').pop() ?? '')
    ANSWERS[kind]?.[0](response)
    if (BREAKING[kind]?.(response)) setTimeout(() => response.destroy(), 20)
  })
  const { client } = clientOf(t, server.url)
  const contacts = await client.lookUp([...Object.keys(ANSWERS), ...Object.keys(BREAKING)])
  for (const [kind, [, contact]] of Object.entries(ANSWERS)) t.strictSame(contacts.get(kind), contact, kind)
  for (const kind in BREAKING)
    t.strictSame(contacts.get(kind), unresolved(BROKEN_OFF, 'UND_ERR_SOCKET'), kind)
})

t.test('addresses are read at their places, each at the first that has a value', async (t) => {
  const bodies: [body: string, contact: Contact | object][] = [
    ['{"contact":{"mail":"a@example.com"},"email":"b@example.com"}', aFound({ email: 'a@example.com' })],
    ['{"contact":{"mail":null},"email":"a@example.com"}', aFound({ email: 'a@example.com' })],
    ['{"contact":{"mail":null}}', NOTHING_ON_FILE],
    ['{"contact":{"mobile":"+45 1"}}', aFound({ email: null, phone: '+45 1' })],
    [
      '{"phone":"+45 1"}',
      { error: /neither \/contact\/mail nor \/email nor .*\/contact\/mobile is there, but \/phone$/ },
    ],
    ['{"contact":{"mail":{}}}', unresolved(NO_TEXT, 'NO_ADDRESS')],
  ]
  const server = await serve(t, (request, response) => {
    response.end(bodies[Number(request.url?.split('/').pop())]?.[0])
  })
  const addresses = {
    ...mapAddresses(() => []),
    email: ['/contact/mail', '/email'],
    phone: ['/contact/mobile'],
  }
  const { client } = clientOf(t, server.url, { addresses })
  const contacts = await client.lookUp(bodies.map((_, index) => `${index}`))
  for (const [index, [body, contact]] of bodies.entries()) t.match(contacts.get(`${index}`), contact, body)
})

t.test('an address that policy administration does not have is missing in no answer', async (t) => {
  const bodies: [body: string, email: readonly string[], contact: object][] = [
    ['{"email":"a@example.com"}', ['/email'], { ...aFound({ phone: null }), without: undefined }],
    [
      '{"mail":"a@example.com"}',
      ['/email'],
      { error: /answered 200 without an address: \/email is not there, but \/mail$/ },
    ],
    ['{"name":"A"}', [], { ...NOTHING_ON_FILE, without: undefined }],
  ]
  for (const [body, email, contact] of bodies) {
    const server = await serve(t, (_request, response) => void response.end(body))
    const { client } = clientOf(t, server.url, { addresses: { ...mapAddresses(() => []), email } })
    t.match((await client.lookUp(['a'])).get('a'), contact, body)
  }
})

t.test('an encoded answer is called so, and a request says who asks and for what', async (t) => {
  const server = await serve(t, ({ headers }, response) => {
    t.match(headers, { 'user-agent': 'notifications-service', 'accept-encoding': 'identity' })
    response.setHeader('content-encoding', 'gzip').end(gzipSync('{"email":null}'))
  })
  t.match((await clientOf(t, server.url).client.lookUp(['a'])).get('a'), {
    error: 'policy administration answered in the encoding "gzip", although the request says "identity"',
    codes: ['ENCODED'],
  })
})

const EXPECTING_TLS: Record<string, string | Buffer> = {
  nginx: '<html><h1>400 Bad Request</h1>The plain HTTP request was sent to HTTPS port</html>',
  Apache: "Reason: You're speaking plain HTTP to an SSL-enabled server port.",
  Go: 'Client sent an HTTP request to an HTTPS server.\n',
  Tomcat: 'Bad Request\r\nThis combination of host and port requires TLS.\r\n',
  OpenSSL: Buffer.from([0x15, 3, 1, 0, 2, 2, 70]),
}

for (const [name, answer] of Object.entries(EXPECTING_TLS)) {
  t.test(`plain HTTP at a port for TLS is called so (${name})`, async (t) => {
    const head = `HTTP/1.1 400 Bad Request\r\ncontent-length: ${answer.length}\r\n\r\n`
    const url = await serveTcp(t, (socket) => {
      socket.on('data', () => socket.end(typeof answer === 'string' ? head + answer : answer))
    })
    t.match((await clientOf(t, url).client.lookUp(['a'])).get('a'), {
      error: 'policy administration expects TLS at this port, and POLICY_ADMIN_URL is an http:// URL',
      costsNoAttempt: true,
    })
  })
}

t.test('TLS at a port for plain HTTP is called so', async (t) => {
  const server = await serve(t, (_, response) => answerFound(response))
  const { client } = clientOf(t, server.url.replace('http:', 'https:'))
  t.match((await client.lookUp(['a'])).get('a'), {
    error: /^policy administration does not speak TLS at this port \(ERR_SSL_\w+\)$/,
    costsNoAttempt: true,
  })
})

t.test('a refused connection has its reason', async (t) => {
  const { client } = clientOf(t, 'http://127.0.0.1:1')
  t.strictSame(
    (await client.lookUp(['a'])).get('a'),
    lost('policy administration did not answer (ECONNREFUSED)', 'ECONNREFUSED'),
  )
})

t.test('locators are encoded into one path segment, below the path of the base URL', async (t) => {
  const parties =
    "a/b|100%|æ漢🙂|a b|a?b=c|a#b|..%2f|...|a\\b|a\0b|a\r\nHost: b|__proto__|%2e%2e|../x|!'()*".split('|')
  const server = await serve(t, (_, response) => answerFound(response))
  for (const [base, path] of [
    ['', ''],
    ['/', ''],
    ['/policy-admin', '/policy-admin'],
    ['/policy%20admin/v1/', '/policy%20admin/v1'],
  ]) {
    server.targets.length = 0
    const { client } = clientOf(t, server.url + base, { connectionCountMax: 1 })
    const contacts = await client.lookUp(parties)
    t.strictSame(
      server.targets,
      parties.map((party) => `${path}/internal/parties/${encodeURIComponent(party)}`),
    )
    for (const party of parties) t.strictSame(contacts.get(party), FOUND)
  }
})

t.test('a locator that would reach another path makes no request', async (t) => {
  const server = await serve(t, (_, response) => answerFound(response))
  const { client } = clientOf(t, server.url)
  const contacts = await client.lookUp(['.', '..', '', '\ud800', 'ok'])
  for (const party of ['.', '..', '', '\ud800']) {
    t.match(contacts.get(party), {
      state: 'unresolved',
      error: /cannot be part of a URL path/,
      costsNoAttempt: false,
    })
  }
  t.strictSame(server.targets, ['/internal/parties/ok'])
  t.equal((await client.lookUp(['..'])).size, 1, 'also where no other party is asked for')
})

t.test('each distinct party is requested once per call; without parties there is no request', async (t) => {
  const server = await serve(t, (_, response) => answerFound(response))
  const { client } = clientOf(t, server.url)
  t.equal((await client.lookUp([])).size, 0)
  t.equal(server.connectionCount(), 0)
  const contacts = await client.lookUp(['a', 'b', 'a', 'a', 'b'])
  t.strictSame([...contacts.keys()].sort(), ['a', 'b'])
  t.equal(server.targets.length, 2)
  await client.lookUp(['a'])
  t.equal(server.targets.length, 3)
})

t.test('all calls share the connections, which are reused after any whole answer', async (t) => {
  // The first seven wait for each other: all connections are in use at once.
  let waiting: (() => void)[] | null = []
  const server = await serve(t, (request, response) => {
    const number = Number(request.url?.split('-').pop())
    const answer = () => {
      if (number % 3 === 0) response.writeHead(410).end('x'.repeat(1_000))
      else if (number % 3 === 1) response.writeHead(400).end('x'.repeat(1_000))
      else answerFound(response)
    }
    if (waiting === null) return answer()
    waiting.push(answer)
    if (waiting.length < 7) return
    for (const one of waiting) one()
    waiting = null
  })
  const { client } = clientOf(t, server.url, { connectionCountMax: 7 })
  const results = await Promise.all([client.lookUp(locators(200)), client.lookUp(locators(100))])
  await client.lookUp(locators(50))
  t.strictSame(
    results.map((contacts) => contacts.size),
    [200, 100],
  )
  t.equal(server.targets.length, 350)
  t.equal(server.inFlightCountMax(), 7)
  t.equal(server.connectionCount(), 7)
})

for (const [moment, isReached] of [
  ['while it connects', () => true],
  ['while it waits for answers', (targetCount: number) => targetCount > 0],
] as const) {
  t.test(`close rejects running calls and closes all connections, ${moment}`, async (t) => {
    const server = await serve(t, () => {})
    const { client, lines } = clientOf(t, server.url)
    const lookUp = client.lookUp(locators(100))
    await until(() => isReached(server.targets.length), { what: 'the requests', intervalMs: 5 })
    await Promise.all([
      t.rejects(lookUp, { message: /client of policy administration is closed/ }),
      client.close(),
    ])
    await until(() => server.openConnectionCount() === 0, { what: 'the connections to close', intervalMs: 5 })
    await t.rejects(client.lookUp(['a']), { message: /client of policy administration is closed/ })
    t.equal(lines.length, 0, 'it is not taken for an outage')
  })
}

for (const [what, partyCount] of [
  ['an idle connection', 3],
  ['an open circuit', 100],
] as const) {
  t.test(`${what} keeps no process alive`, async (t) => {
    const server = await serve(t, (_, response) => {
      if (partyCount === 3) answerFound(response)
      else response.writeHead(500).end()
    })
    const addresses = JSON.stringify(ADDRESS_PLACES)
    const script = `
      import { createPartyClient } from '${new URL('../../../src/service/contacts/client.ts', import.meta.url)}'
      import { pino } from 'pino'
      const client = createPartyClient({
        baseUrl: '${server.url}', connectionCountMax: 4, echo: [], deadlineMs: 60_000, log: pino({ level: 'silent' }),
        tlsFiles: {}, isProxied: false, credential: null, addresses: ${addresses},
      })
      await client.lookUp(Array.from({ length: ${partyCount} }, (_, index) => String(index)))
      console.log(client.isDown())
    `
    const child = spawn(process.execPath, ['--input-type=module', '-e', script], {
      stdio: ['ignore', 'pipe', 'inherit'],
      cwd: new URL('../../..', import.meta.url),
      timeout: 60_000,
    })
    const [[code], output] = await Promise.all([once(child, 'exit'), text(child.stdout)])
    t.equal(code, 0, 'it ends by itself, without close')
    t.equal(output, `${partyCount === 100}\n`)
  })
}
