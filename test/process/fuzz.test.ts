import t from 'tap'
import { createDocumentCheck } from '../service/http/documented.ts'
import fc from '../stack/properties.ts'
import { anEvent, aWorld } from '../stack/world.ts'
import { exchange, type RawRequest } from './exchange.ts'

const RUN_COUNT = 300

const world = await aWorld(t)
const service = await world.serve({ MANAGEMENT_PORT: '0', LOG_LEVEL: 'info' })
await world.publish(['party-1', 'ä/1 %'].map((partyLocator) => anEvent({ partyLocator })))
await world.caughtUp()
const rows = await world.sql('SELECT locator, event_id FROM notifications.notification_log')
const management = await service.managementUrl()
// biome-ignore lint/suspicious/noExplicitAny: an OpenAPI document, read as it comes
const document: any = await (await fetch(`${management}/openapi.json`)).json()
const check = createDocumentCheck(document)

function weighted<T>(...all: [weight: number, arbitrary: fc.Arbitrary<T>][]): fc.Arbitrary<T> {
  return fc.oneof(...all.map(([weight, arbitrary]) => ({ weight, arbitrary })))
}

/** Texts that lead somewhere, and texts that are likely to go wrong somewhere. */
const text = weighted(
  [
    6,
    fc.constantFrom(
      ...rows.flatMap(({ locator, event_id }) => [String(locator), String(event_id)]),
      ...['party-1', 'ä/1 %', 'claim.paid', 'SENT', 'EMAIL', 'true', '2026-01-31T12:00:00Z', '1', '7d'],
    ),
  ],
  [
    3,
    fc.constantFrom(
      ...[
        '\0',
        'a\0b',
        '\ud800',
        '\uffff',
        '\u2028',
        '..',
        '.',
        '/',
        '%',
        '%00',
        "'",
        '"',
        '{}',
        '__proto__',
      ],
      ...['-1', '1e9', 'NaN', 'null', '9999-12-31T23:59:59-23:59', '0000-01-01T00:00:00Z'],
    ),
  ],
  [2, fc.string({ unit: 'binary' })],
  [1, fc.string({ minLength: 250, maxLength: 3_000 })],
)
const encoded = weighted(
  [9, text.map((found) => encodeURIComponent(found.toWellFormed()))],
  [1, fc.constantFrom('%zz', '%', '%ff', '%c0%af', '%00', '%2e%2e', '..;', '%ed%a0%80')],
)

/** Preferences of the right shape, with texts that may be any, and other JSON. */
const preferences = fc.record(
  {
    email: fc.option(text),
    phone: fc.option(text),
    preferredChannel: fc.constantFrom('EMAIL', 'SMS', 'FAX'),
    optedOutEvents: fc.array(text, { maxLength: 5 }),
  },
  { requiredKeys: [] },
)
const sent: fc.Arbitrary<Pick<RawRequest, 'headers' | 'body'>> = fc.record({
  headers: fc.record({
    'content-type': weighted(
      [8, fc.constant('application/json')],
      [2, fc.constantFrom('text/plain', 'application/json; charset=x', ';;', '')],
    ),
  }),
  body: weighted([4, preferences.map((value) => JSON.stringify(value))], [2, fc.json()], [1, text]),
})

interface Operation {
  readonly method: string
  readonly template: string
  readonly query: readonly string[]
  readonly hasBody: boolean
}
const operations: Operation[] = Object.entries(document.paths).flatMap(([template, methods]) =>
  // biome-ignore lint/suspicious/noExplicitAny: see above
  Object.entries(methods as Record<string, any>).map(([method, { parameters = [], requestBody }]) => ({
    method: method.toUpperCase(),
    template,
    query: parameters.flatMap((one: { in: string; name: string }) => (one.in === 'query' ? [one.name] : [])),
    hasBody: requestBody !== undefined,
  })),
)

const request = fc.constantFrom(...operations).chain(({ method, template, query, hasBody }) => {
  const name = weighted([9, fc.constantFrom(...query, 'limit')], [1, encoded])
  const pairs = fc.array(
    fc.tuple(name, encoded).map((pair) => pair.join('=')),
    { maxLength: 3 },
  )
  const others = fc.constantFrom('HEAD', 'POST', 'DELETE', 'PATCH', 'OPTIONS', 'TRACE')
  const [some, none] = hasBody ? [9, 1] : [1, 9]
  return fc
    .record({
      method: weighted([12, fc.constant(method)], [1, others]),
      query: pairs.map((given) => (given.length === 0 ? '' : `?${given.join('&')}`)),
      sent: weighted<Pick<RawRequest, 'headers' | 'body'>>([some, sent], [none, fc.constant({})]),
      value: encoded,
    })
    .map((made) => {
      const path = template.replace(/\{\w+\}/, () => made.value)
      // The name of another route leads elsewhere.
      const isElsewhere = made.value === 'list'
      return {
        ...made.sent,
        method: made.method,
        path: `${path}${made.query}`,
        template: isElsewhere ? path : template,
      }
    })
})

/** All that a header of an answer can say: nothing that came with the request. */
const HEADERS: Readonly<Record<string, RegExp>> = {
  allow: /^[A-Z, ]+$/,
  'cache-control': /^no-store$/,
  connection: /^(keep-alive|close)$/,
  'content-length': /^\d+$/,
  'content-type': /^application\/(problem\+json|json; charset=utf-8)$/,
  date: /^\w{3}, \d\d \w{3} \d{4} [\d:]{8} GMT$/,
  'keep-alive': /^timeout=\d+$/,
  'transfer-encoding': /^chunked$/,
  'x-content-type-options': /^nosniff$/,
}

t.test(`${RUN_COUNT} odd requests are answered as documented`, { timeout: 600_000 }, async (t) => {
  const statuses: Record<number, number> = {}
  await fc.assert(
    fc.asyncProperty(request, async ({ template, ...asked }) => {
      const answer = await exchange(service.url, asked)
      statuses[answer.status] = (statuses[answer.status] ?? 0) + 1
      const odd = Object.entries(answer.headers).filter(
        ([name, value]) => !HEADERS[name]?.test(String(value)),
      )
      const fault = answer.status >= 500 ? `status ${answer.status}` : check(asked.method, template, answer)
      if (fault !== null || odd.length > 0)
        throw new Error(`${asked.method} ${template}: ${fault ?? JSON.stringify(odd)}`)
    }),
    { numRuns: RUN_COUNT, endOnFailure: false },
  )
  t.comment(`by status: ${JSON.stringify(statuses)}`)
  t.ok((statuses[200] ?? 0) > RUN_COUNT / 20, 'many of them are good')
  t.equal((await exchange(service.url, { method: 'GET', path: '/readyz' })).status, 200)
  t.notOk(service.lines.some(({ msg }) => msg === 'request failed'))
})
