import t from 'tap'
import { isPartyLocator } from '../../../../src/service/decide/event/parse-event.ts'
import fc from '../../../stack/properties.ts'
import { documentedApp } from '../documented.ts'
import { dependencies } from '../fixture.ts'

const { all, stored } = dependencies()
const app = documentedApp(all)
t.teardown(() => app.close())
t.beforeEach(() => stored.clear())

const FULL = {
  email: 'member@example.com',
  phone: '+41 44 000 00 00',
  preferredChannel: 'IN_APP',
  optedOutEvents: ['claim.paid', 'Anything Else '],
}
const urlOf = (partyLocator: string) => `/preferences/${encodeURIComponent(partyLocator)}`

t.test('a party without preferences is not found', async (t) => {
  const response = await app.inject(urlOf('PTY-1'))
  t.equal(response.statusCode, 404)
  t.equal(response.json().detail, 'This party has no preferences.')
})

t.test('preferences set by PUT are returned, stored, shown and listed', async (t) => {
  const put = await app.inject({ method: 'PUT', url: urlOf('PTY-1'), payload: FULL })
  t.equal(put.statusCode, 200)
  t.strictSame(put.json(), FULL)
  t.strictSame(stored.get('PTY-1'), { ...FULL, changedBy: null })
  t.strictSame((await app.inject(urlOf('PTY-1'))).json(), FULL)
  t.strictSame((await app.inject('/preferences/list')).json(), {
    items: [{ partyLocator: 'PTY-1', ...FULL }],
    nextCursor: null,
  })
})

const LONGEST = {
  email: `${'x'.repeat(64)}@${'x'.repeat(255)}`,
  phone: '0'.repeat(64),
  preferredChannel: 'SMS',
  optedOutEvents: ['😀'.repeat(127), ...Array.from({ length: 199 }, (_, i) => `${i}${'😀'.repeat(20)}`)],
}
t.test('values at the limits are stored', async (t) => {
  const put = await app.inject({ method: 'PUT', url: urlOf('PTY-1'), payload: LONGEST })
  t.equal(put.statusCode, 200)
  t.strictSame(put.json(), LONGEST)
})

t.test('a PUT beyond what may be changed in a day is refused, and says so', async (t) => {
  const full = documentedApp({ ...all, preferences: { ...all.preferences, put: async () => null } })
  t.teardown(() => full.close())
  const put = await full.inject({ method: 'PUT', url: urlOf('PTY-1'), payload: FULL })
  t.equal(put.statusCode, 429)
  t.match(put.json(), { detail: /in the last 24 hours for such a long list/ })
  t.equal(put.headers['retry-after'], '3600')
})

const REFUSED: readonly (readonly [unknown, readonly string[]])[] = [
  [null, ['#']],
  [[], ['#']],
  ['text', ['#']],
  [1, ['#']],
  [{ preferredChannel: 'FAX' }, ['#/preferredChannel']],
  [{ preferredChannel: 'email' }, ['#/preferredChannel']],
  [{ preferredChannel: null }, ['#/preferredChannel']],
  [{ email: '' }, ['#/email']],
  [{ email: 1 }, ['#/email']],
  [{ email: 'x'.repeat(321) }, ['#/email']],
  [{ email: 'a\0' }, ['#/email']],
  [{ email: '\ud800' }, ['#/email']],
  [{ phone: {} }, ['#/phone']],
  [{ phone: '0'.repeat(65) }, ['#/phone']],
  [{ optedOutEvents: null }, ['#/optedOutEvents']],
  [{ optedOutEvents: 'claim.paid' }, ['#/optedOutEvents']],
  [{ optedOutEvents: { 0: 'claim.paid' } }, ['#/optedOutEvents']],
  [{ optedOutEvents: Array(201).fill('x') }, ['#/optedOutEvents']],
  [
    { optedOutEvents: ['x', '', null, 'x'.repeat(256), '\udc00'] },
    ['#/optedOutEvents/1', '#/optedOutEvents/2', '#/optedOutEvents/3', '#/optedOutEvents/4'],
  ],
  [
    { optedOutEvents: ['claim.paid', 'claim.*', '*', 'not claim.paid', 'claim.paid or invoice.paid'] },
    [1, 2, 3, 4].map((i) => `#/optedOutEvents/${i}`),
  ],
  [
    { optedOutEvents: ['or', 'Not claim.paid', 'exactly claim.paid', 'No template', ' not claim.paid '] },
    [1, 2, 3, 4].map((i) => `#/optedOutEvents/${i}`),
  ],
  [{ optedOutEvents: ['😀'.repeat(128)] }, ['#/optedOutEvents/0']],
  [{ partyLocator: 'PTY-1' }, ['#/partyLocator']],
  [JSON.parse('{"__proto__":{"email":"x"}}'), ['#/__proto__']],
  [{ 'a/b~c %"é\ud800': 1 }, ['#/a~1b~0c%20%25%22%C3%A9%EF%BF%BD']],
  [
    { email: 1, phone: 2, preferredChannel: 3, optedOutEvents: [4], constructor: 5, toString: 6 },
    ['#/email', '#/phone', '#/preferredChannel', '#/optedOutEvents/0', '#/constructor', '#/toString'],
  ],
  [
    { optedOutEvents: Array(200).fill(1), preferredChannel: 1 },
    ['#/preferredChannel', ...Array.from({ length: 200 }, (_, i) => `#/optedOutEvents/${i}`)],
  ],
]
t.test('invalid preferences are refused with each wrong field named', async (t) => {
  for (const [body, pointers] of REFUSED) {
    const response = await app.inject({
      method: 'PUT',
      url: urlOf('PTY-1'),
      headers: { 'content-type': 'application/json' },
      payload: JSON.stringify(body),
    })
    const what = JSON.stringify(body).slice(0, 60)
    t.equal(response.statusCode, 400, what)
    t.equal(response.headers['content-type'], 'application/problem+json')
    const expected = pointers.map((pointer) => ({ pointer, detail: /^(must|is) / }))
    t.match(response.json().errors, expected, what)
    t.equal(response.json().errors.length, pointers.length, what)
    t.equal(stored.size, 0)
  }
})

const JSON_TYPE = 'application/json'
t.test('a body that is not JSON, or not declared as JSON, is refused', async (t) => {
  for (const [what, type, payload, status] of [
    ['no body', undefined, undefined, 400],
    ['an empty body', JSON_TYPE, '', 400],
    ['half a body', JSON_TYPE, '{"email"', 400],
    ['JSON that is not in UTF-8', JSON_TYPE, Buffer.from('{"email":"\xe9"}', 'latin1'), 400],
    ['64 kB and one byte', JSON_TYPE, JSON.stringify('x'.repeat(65_535)), 413],
    ['JSON as text', 'text/plain', '{}', 415],
    ['a malformed content type', ';;', '{}', 415],
  ] as const) {
    const headers = type && { 'content-type': type }
    const response = await app.inject({
      method: 'PUT',
      url: urlOf('PTY-1'),
      ...(headers && { headers }),
      ...(payload !== undefined && { payload }),
    })
    t.equal(response.statusCode, status, what)
    t.equal(response.headers['content-type'], 'application/problem+json')
    t.equal(stored.size, 0)
  }
})

const PARTIES = [
  ...'a/b / % %2F %252F 100% ?x=1#y a+c ä😀\u202e ... LIST list/ __proto__ constructor {x} :partyLocator'.split(
    ' ',
  ),
  ...['a b', 'list ', '\u0001\n\r', '😀'.repeat(127), 'x'.repeat(255)],
]
t.test('a party locator with any characters is stored and shown unchanged', async (t) => {
  const name = fc
    .string({ unit: 'binary', minLength: 1, maxLength: 60 })
    .filter((text) => isPartyLocator(text) && text !== 'list')
  await fc.assert(
    fc.asyncProperty(name, async (partyLocator) => {
      stored.clear()
      const put = await app.inject({ method: 'PUT', url: urlOf(partyLocator), payload: FULL })
      t.equal(put.statusCode, 200)
      t.strictSame([...stored.keys()], [partyLocator])
      t.strictSame((await app.inject(urlOf(partyLocator))).json(), FULL)
    }),
    { numRuns: 200, examples: PARTIES.map((party) => [party]) },
  )
})

t.test('a party locator that is empty, contains NUL or is too long is refused', async (t) => {
  for (const url of ['/preferences/', '/preferences/a%00', `/preferences/${'x'.repeat(256)}`]) {
    for (const method of ['GET', 'PUT'] as const) {
      const response = await app.inject({ method, url, ...(method === 'PUT' ? { payload: {} } : {}) })
      t.equal(response.statusCode, 400)
      t.match(response.json().errors, [
        { parameter: 'partyLocator', detail: /^must have 1 to 255 characters/ },
      ])
    }
    t.equal(stored.size, 0)
  }
  for (const name of ['%ED%A0%80', '%zz', '%'])
    t.equal((await app.inject(`/preferences/${name}`)).statusCode, 400, name)
})

for (const url of ['/preferences/list', '/preferences/%6Cist', '/preferences/%6c%69%73%74']) {
  t.test(`${url} is the list and not a party: PUT gets a 405`, async (t) => {
    t.match((await app.inject(url)).json(), { items: [], nextCursor: null })
    const put = await app.inject({ method: 'PUT', url, payload: {} })
    t.equal(put.statusCode, 405)
    t.equal(put.headers.allow, 'GET, HEAD')
    t.equal(stored.size, 0)
  })
}

t.test('the list has a cursor from each page to the next', async (t) => {
  const parties = ['ä😀', 'a/b', '\u0001', 'PTY-1', '😀'.repeat(127)]
  for (const party of parties) await app.inject({ method: 'PUT', url: urlOf(party), payload: {} })
  const seen: string[] = []
  let cursor: string | null = null
  do {
    const query: Record<string, string> = cursor === null ? { limit: '2' } : { limit: '2', cursor }
    const { items, nextCursor } = (await app.inject({ url: '/preferences/list', query })).json()
    seen.push(...items.map(({ partyLocator }: { partyLocator: string }) => partyLocator))
    cursor = nextCursor
  } while (cursor !== null)
  t.strictSame(seen, parties.toSorted())
})

t.test('an invalid query of the list is refused with each wrong parameter named', async (t) => {
  const cursorOf = (words: string) => `cursor=${Buffer.from(words).toString('base64url')}`
  for (const [query, parameters] of [
    ['limit=0', ['limit']],
    ['partyLocator=x&status=SENT', ['partyLocator', 'status']],
    ['cursor=x', ['cursor']],
    [cursorOf('preferences1'), ['cursor']],
    [cursorOf('preferences"\\u0000"'), ['cursor']],
    [cursorOf('log"x"'), ['cursor']],
  ] as const) {
    const response = await app.inject(`/preferences/list?${query}`)
    t.equal(response.statusCode, 400, query)
    const expected = parameters.map((parameter) => ({ parameter }))
    t.match(response.json().errors, expected, query)
  }
})
