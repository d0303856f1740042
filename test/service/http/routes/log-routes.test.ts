import t from 'tap'
import { documentedApp } from '../documented.ts'
import { dependencies, ENTRY, LISTED, locator, PLACE } from '../fixture.ts'

const { all, asked } = dependencies()
const app = documentedApp(all)
t.teardown(() => app.close())
t.beforeEach(() => {
  asked.length = 0
})

for (const path of ['/log', '/notifications']) {
  t.test(`${path}/list shows entries and the cursor of the next page`, async (t) => {
    const first = await app.inject(`${path}/list`)
    t.equal(first.statusCode, 200)
    t.strictSame(first.json().items, [LISTED])
    const second = await app.inject(`${path}/list?limit=7&cursor=${first.json().nextCursor}`)
    t.equal(second.json().nextCursor, null)
    t.strictSame(asked, [
      { filter: {}, page: { limit: 50, after: null } },
      { filter: {}, page: { limit: 7, after: PLACE } },
    ])
  })

  t.test(`${path}/{locator} shows one entry with the decisions behind it`, async (t) => {
    const response = await app.inject(`${path}/${ENTRY.locator}`)
    t.equal(response.statusCode, 200)
    t.strictSame(response.json(), ENTRY)
  })
}

t.test('a text that is not a locator is not looked up', async (t) => {
  const { all, askedFor } = dependencies()
  const app = documentedApp(all)
  for (const text of [
    'NTF-1',
    'list2',
    `${ENTRY.locator}%00`,
    `x${ENTRY.locator}`,
    ENTRY.locator.toLowerCase(),
  ]) {
    t.equal((await app.inject(`/log/${text}`)).statusCode, 404, text)
  }
  t.strictSame(askedFor, [])
})

t.test('filters reach the query unchanged', async (t) => {
  const partyLocator = 'PTY/ä 100% & more'
  const filter = {
    ...{ partyLocator, eventType: 'claim.paid', status: 'FAILED', channel: 'IN_APP', eventId: '%' },
    ...{ reason: 'no email', rule: 'no-email', reference: 'x'.repeat(3_000) },
  }
  const response = await app.inject({ url: '/log/list', query: { ...filter, limit: '200' } })
  t.equal(response.statusCode, 200)
  t.strictSame(asked, [{ filter, page: { limit: 200, after: null } }])
})

t.test('a time, a date or a duration means the same as on the command line', async (t) => {
  for (const [from, to, filter] of [
    ['7d', '2026-01-31', { from: 7 * 86_400_000, to: '2026-01-31T00:00:00.000000Z' }],
    [
      '2026-01-31T23:30:00.123456-01:30',
      '9999-12-31T23:59:59.999999Z',
      { from: '2026-02-01T01:00:00.123456Z', to: '9999-12-31T23:59:59.999999Z' },
    ],
  ] as const) {
    t.equal((await app.inject({ url: '/log/list', query: { from, to } })).statusCode, 200)
    t.strictSame(asked.pop()?.filter, filter)
  }
})

const cursorOf = (text: string) => Buffer.from(text).toString('base64url')
const OURS = cursorOf(`log${JSON.stringify(PLACE)}`)
const FOREIGN_CURSORS = [
  '',
  'abc',
  '..%2F..',
  locator(1),
  cursorOf(locator(1)),
  cursorOf('log'),
  cursorOf('log{'),
  cursorOf('lognull'),
  cursorOf(`preferences${JSON.stringify(PLACE)}`),
  cursorOf(`log${JSON.stringify({ ...PLACE, more: 1 })}`),
  cursorOf(`log${JSON.stringify({ ...PLACE, createdAt: 'now' })}`),
  cursorOf(`log${JSON.stringify({ ...PLACE, createdAt: '0000-01-01T00:00:00.000000Z' })}`),
  // What PostgreSQL would refuse.
  ...['99999-02-29', '9999-01-01', '294277-01-01', '0000-01-01', '99999-01-01 25'].map((day) =>
    cursorOf(`log${JSON.stringify({ ...PLACE, createdAt: `${day} 00:00:00+00`.replace(' 25 00', ' 25') })}`),
  ),
  ...['0001-02-30', '4714-11-23', '4715-01-01'].map((day) =>
    cursorOf(`log${JSON.stringify({ ...PLACE, createdAt: `${day} 00:00:00+00 BC` })}`),
  ),
  cursorOf(`log${JSON.stringify({ ...PLACE, locator: 'x' })}`),
  cursorOf(`log ${JSON.stringify(PLACE)}`),
  `${OURS}=`,
  `${OURS}A`,
  'A'.repeat(4_000),
]
const REFUSED: readonly (readonly [string, readonly string[]])[] = [
  ...['0', '201', '-1', '1.5', '0x10', '', '1&limit=2'].map((text) => [`limit=${text}`, ['limit']] as const),
  ['status=sent', ['status']],
  ['status=SENT&status=FAILED', ['status']],
  ['channel=FAX', ['channel']],
  ['eventId=', ['eventId']],
  ['partyLocator=', ['partyLocator']],
  ...[
    '',
    'yesterday',
    '2026-01-31T12:00:00+02:00', // Its + is a space.
    '2026-01-31T12:00:00Z&from=2026-01-31T12:00:00Z',
  ].map((text) => [`from=${text}`, ['from']] as const),
  ['partyLocator=%00', ['partyLocator']],
  [`eventType=${'x'.repeat(256)}`, ['eventType']],
  [`eventType=${encodeURIComponent('😀'.repeat(128))}`, ['eventType']],
  ['partyLocators=x', ['partyLocators']],
  ['__proto__=x', ['__proto__']],
  ['constructor=x&toString=y', ['constructor', 'toString']],
  ['a/b=1', ['a/b']],
  ['limit=0&status=x&nope=1', ['status', 'limit', 'nope']],
  ...FOREIGN_CURSORS.map((cursor) => [`cursor=${cursor}`, ['cursor']] as const),
]
t.test('a query that is no percent-encoded text is refused', async (t) => {
  for (const query of ['partyLocator=%ff', 'partyLocator=%zz'])
    t.match(
      (await app.inject(`/log/list?${query}`)).json(),
      { status: 400, detail: /percent-encoded/ },
      query,
    )
})

t.test('an invalid query is refused with each wrong parameter named', async (t) => {
  for (const [query, parameters] of REFUSED) {
    const response = await app.inject(`/log/list?${query}`)
    t.equal(response.statusCode, 400, query)
    t.equal(response.headers['content-type'], 'application/problem+json')
    const expected = parameters.map((parameter) => ({ parameter, detail: /^(must|is) / }))
    t.match(response.json().errors, expected, query)
    t.equal(response.json().errors.length, parameters.length, query)
    t.strictSame(asked, [])
  }
})

t.test('many unknown parameters get an answer of bounded size', async (t) => {
  const query = Array.from({ length: 2_000 }, (_, index) => `x${index}=1`).join('&')
  const response = await app.inject(`/log/list?${query}`)
  t.equal(response.statusCode, 400)
  t.equal(response.json().errors.length, 20)
})
