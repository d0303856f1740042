import t from 'tap'
import { buildApp } from '../../../src/http/app.ts'
import { encodeCursor } from '../../../src/http/cursor.ts'
import { dependencies, ENTRY, locator } from '../fixture.ts'

t.beforeEach((t) => {
  const { all, asked } = dependencies()
  const app = buildApp(all)
  t.context = { app, asked }
  t.teardown(() => app.close())
})

const SHOWN = {
  locator: ENTRY.locator,
  eventId: 'event-1',
  partyLocator: 'PTY-1',
  eventType: 'claim.rejected',
  channel: 'EMAIL',
  status: 'SENT',
  subject: 'Your claim',
  body: 'Your claim CLM-1 was rejected',
  failureReason: null,
  attemptCount: 1,
  sentAt: '2026-01-31T12:00:00.500000Z',
  createdAt: '2026-01-31T12:00:00.123456Z',
}

for (const path of ['/log', '/notifications']) {
  t.test(`${path}/list shows entries with times in microseconds, and leads to the next page`, async (t) => {
    const { app, asked } = t.context
    const first = await app.inject(`${path}/list`)
    t.equal(first.statusCode, 200)
    t.same(first.json().items, [SHOWN])
    const second = await app.inject(`${path}/list?limit=7&cursor=${first.json().nextCursor}`)
    t.equal(second.json().nextCursor, null)
    t.same(asked, [
      { filter: {}, page: { limit: 50, after: null } },
      { filter: {}, page: { limit: 7, after: ENTRY.locator } },
    ])
  })

  t.test(`${path}/{locator} shows one entry with the decisions behind it`, async (t) => {
    const response = await t.context.app.inject(`${path}/${ENTRY.locator}`)
    t.equal(response.statusCode, 200)
    t.same(response.json(), {
      ...SHOWN,
      decisions: [{ ...ENTRY.decisions[0], decidedAt: '2026-01-31T12:00:00.000000Z' }],
    })
  })
}

t.test('fields that the API does not promise are not shown', async (t) => {
  const { all } = dependencies()
  const app = buildApp({
    ...all,
    logEntries: { ...all.logEntries, get: async () => ({ ...ENTRY, lastAttemptAt: 'x' }) as typeof ENTRY },
  })
  t.notHas((await app.inject(`/log/${ENTRY.locator}`)).json(), { lastAttemptAt: 'x' })
})

t.test('a text that can be no locator is not looked up', async (t) => {
  const { all, askedFor } = dependencies()
  const app = buildApp(all)
  for (const text of [
    'NTF-1',
    'list2',
    `${ENTRY.locator}%00`,
    `x${ENTRY.locator}`,
    ENTRY.locator.toLowerCase(),
  ]) {
    t.equal((await app.inject(`/log/${text}`)).statusCode, 404, text)
  }
  t.same(askedFor, [])
})

t.test('filters are passed on as they were meant', async (t) => {
  const { app, asked } = t.context
  const partyLocator = 'PTY/ä 100% & more'
  const query = { partyLocator, eventType: 'claim.paid', status: 'FAILED', limit: '200' }
  const response = await app.inject({ url: '/log/list', query })
  t.equal(response.statusCode, 200)
  t.same(asked, [
    {
      filter: { partyLocator, eventType: 'claim.paid', status: 'FAILED' },
      page: { limit: 200, after: null },
    },
  ])
})

const FOREIGN_CURSORS = [
  '',
  'abc',
  '..%2F..',
  locator(1),
  Buffer.from(locator(1)).toString('base64url'),
  Buffer.from(`2${locator(1)}x`).toString('base64url'),
  `${encodeCursor(locator(1))}=`,
  `${encodeCursor(locator(1))}A`,
  'A'.repeat(4_000),
]
const REFUSED: readonly (readonly [string, readonly string[]])[] = [
  ['limit=0', ['limit']],
  ['limit=201', ['limit']],
  ['limit=-1', ['limit']],
  ['limit=1.5', ['limit']],
  ['limit=0x10', ['limit']],
  ['limit=', ['limit']],
  ['limit=1&limit=2', ['limit']],
  ['status=sent', ['status']],
  ['status=SENT&status=FAILED', ['status']],
  ['partyLocator=', ['partyLocator']],
  ['partyLocator=%00', ['partyLocator']],
  [`eventType=${'x'.repeat(256)}`, ['eventType']],
  ['partyLocators=x', ['partyLocators']],
  ['__proto__=x', ['__proto__']],
  ['constructor=x&toString=y', ['constructor', 'toString']],
  ['a/b=1', ['a/b']],
  ['limit=0&status=x&nope=1', ['status', 'limit', 'nope']],
  ...FOREIGN_CURSORS.map((cursor) => [`cursor=${cursor}`, ['cursor']] as const),
]
for (const [query, parameters] of REFUSED) {
  t.test(`?${query.slice(0, 50)} is refused, naming ${parameters.join(', ')}`, async (t) => {
    const { app, asked } = t.context
    const response = await app.inject(`/log/list?${query}`)
    t.equal(response.statusCode, 400)
    t.equal(response.headers['content-type'], 'application/problem+json')
    const { errors } = response.json()
    t.same(
      errors.map(({ parameter }: { parameter: string }) => parameter),
      parameters,
    )
    for (const { detail } of errors) t.match(detail, /^(must|is) /)
    t.same(asked, [])
  })
}

t.test('a flood of unknown parameters is answered by a bounded list', async (t) => {
  const query = Array.from({ length: 2_000 }, (_, index) => `x${index}=1`).join('&')
  const response = await t.context.app.inject(`/log/list?${query}`)
  t.equal(response.statusCode, 400)
  t.equal(response.json().errors.length, 20)
})
