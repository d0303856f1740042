import fc from 'fast-check'
import t from 'tap'
import { createDocumentCheck } from '../http/documented.ts'
import { anEvent, aWorld } from '../stack/world.ts'
import { exchange, type Request } from './exchange.ts'

const RUN_COUNT = 1_000

const world = await aWorld(t)
const service = await world.serve({ MANAGEMENT_PORT: '0', LOG_LEVEL: 'info' })
await world.publish(
  ['party-1', 'ä/1 %', 'party-2'].map((partyLocator) =>
    anEvent({ partyLocator, eventType: 'claim.rejected' }),
  ),
)
await world.caughtUp()
const rows = await world.sql('SELECT locator, event_id FROM notifications.notification_log')
const management = await service.managementUrl()
// biome-ignore lint/suspicious/noExplicitAny: an OpenAPI document, read as it comes
const document: any = await (await fetch(`${management}/openapi.json`)).json()
const check = createDocumentCheck(document)

function weighted<T>(...all: [weight: number, arbitrary: fc.Arbitrary<T>][]): fc.Arbitrary<T> {
  return fc.oneof(...all.map(([weight, arbitrary]) => ({ weight, arbitrary })))
}

/** Texts that are likely to go wrong somewhere, and texts that lead somewhere. */
const text = weighted(
  [
    5,
    fc.constantFrom(
      ...rows.flatMap(({ locator, event_id }) => [String(locator), String(event_id)]),
      ...['party-1', 'ä/1 %', 'claim.rejected', 'SENT', 'EMAIL', '2026-01-31T12:00:00Z', '1'],
    ),
  ],
  [2, fc.constantFrom('\0', 'a\0b', '\ud800', '\uffff', '\u0001', '\u2028')],
  [
    2,
    fc.constantFrom(
      ...['..', '.', '/', '%', '%00', "'", '"', '\\', '{}', '__proto__', '-1', '1e9', '0x1', 'NaN', 'null'],
      ...['9999-12-31T23:59:59.999999Z', '9999-12-31T23:59:59-23:59', '0000-01-01T00:00:00Z'],
    ),
  ],
  [2, fc.string({ unit: 'grapheme' })],
  [1, fc.string({ unit: 'binary' })],
  [1, fc.string({ minLength: 250, maxLength: 3_000 })],
)
const encoded = weighted(
  [9, text.map((found) => encodeURIComponent(found.toWellFormed()))],
  [1, fc.constantFrom('%zz', '%', '%ff', '%c0%af', '%00', '%2e%2e', '..;', '%ed%a0%80')],
)
const json = fc.oneof(
  fc.json(),
  fc.jsonValue().map((value) => JSON.stringify(value)),
  text.map((found) => JSON.stringify(found)),
)

/** What is used of a JSON schema. */
interface Schema {
  readonly type?: string | readonly string[]
  readonly enum?: readonly unknown[]
  readonly anyOf?: readonly Schema[]
  readonly items?: Schema
  readonly properties?: Readonly<Record<string, Schema>>
}
interface Operation {
  readonly method: string
  readonly template: string
  readonly parameters: readonly { readonly in: string; readonly name: string; readonly schema: Schema }[]
  /** Null where it has no body. */
  readonly body: Schema | null
}
const operations: Operation[] = Object.entries(document.paths).flatMap(([template, methods]) =>
  // biome-ignore lint/suspicious/noExplicitAny: see above
  Object.entries(methods as Record<string, any>).map(([method, { parameters = [], requestBody }]) => ({
    method: method.toUpperCase(),
    template,
    parameters,
    body: requestBody?.content['application/json']?.schema ?? null,
  })),
)

/** Values of a schema's type, though its texts may be any. */
function typed({
  type = [],
  enum: values,
  anyOf,
  items = {},
  properties = {},
}: Schema): fc.Arbitrary<unknown> {
  if (values !== undefined) return fc.constantFrom(...values)
  const types = anyOf?.map(typed) ?? [type].flat().map((each) => typedAs(each, items, properties))
  return types.length === 0 ? fc.jsonValue() : fc.oneof(...types)
}

function typedAs(type: string, items: Schema, properties: Schema['properties'] = {}): fc.Arbitrary<unknown> {
  if (type === 'null') return fc.constant(null)
  if (type === 'integer') return fc.integer({ min: -1, max: 250 })
  if (type === 'array') return fc.array(typed(items), { maxLength: 5 })
  if (type === 'object') {
    const fields = Object.entries(properties).map(([name, schema]) => [name, mostlyTyped(schema)])
    return fc.record(Object.fromEntries(fields), { requiredKeys: [] })
  }
  return text
}

function mostlyTyped(schema: Schema) {
  return weighted([15, typed(schema)], [1, fc.jsonValue()])
}

function encodedValueOf({ schema }: Operation['parameters'][number]) {
  const value = typed(schema).map((found) => encodeURIComponent(String(found).toWellFormed()))
  return weighted([4, value], [1, encoded])
}

/** Some of the parameters that there are, in any order and number, and now and then one that there is not. */
function queryOf({ parameters }: Operation): fc.Arbitrary<string> {
  const known = parameters
    .filter((parameter) => parameter.in === 'query')
    .map((parameter) => encodedValueOf(parameter).map((value) => `${parameter.name}=${value}`))
  const unknown = fc.tuple(encoded, encoded).map(([name, value]) => `${name}=${value}`)
  const pair = weighted(...known.map((one): [number, typeof one] => [5, one]), [1, unknown])
  const pairs = fc.oneof(fc.array(pair, { maxLength: 1 }), fc.array(pair, { maxLength: 4 }))
  return pairs.map((given) => (given.length === 0 ? '' : `?${given.join('&')}`))
}

function bodyOf({ body: schema }: Operation): fc.Arbitrary<Pick<Request, 'headers' | 'body'>> {
  const type = fc.oneof(
    { weight: 8, arbitrary: fc.constant('application/json') },
    { weight: 1, arbitrary: fc.constantFrom('text/plain', 'application/json; charset=x', ';;', 'a/b', '') },
  )
  const shaped = typed(schema ?? {}).map((value) => JSON.stringify(value))
  const body = weighted([4, shaped], [2, json], [1, text])
  const sent = fc.record({ headers: fc.record({ 'content-type': type }), body })
  // A body where none is expected is possible, too.
  const [some, none] = schema === null ? [1, 9] : [9, 1]
  return weighted<Pick<Request, 'headers' | 'body'>>([some, sent], [none, fc.constant({})])
}

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

type Fuzzed = Request & { readonly template: string }

const request: fc.Arbitrary<Fuzzed> = fc.constantFrom(...operations).chain((operation) => {
  const { template, parameters } = operation
  const inPath = parameters.filter((parameter) => parameter.in === 'path')
  const others = fc.constantFrom('HEAD', 'POST', 'DELETE', 'PATCH', 'OPTIONS', 'TRACE')
  const method = weighted([12, fc.constant(operation.method)], [1, others])
  return fc
    .tuple(method, queryOf(operation), bodyOf(operation), fc.tuple(...inPath.map(encodedValueOf)))
    .map(([method, query, sent, values]) => {
      let path = template
      for (const [i, { name }] of inPath.entries()) path = path.replace(`{${name}}`, values[i] ?? '')
      // The name of another route leads elsewhere.
      const elsewhere = values.includes('list')
      return { ...sent, method, path: `${path}${query}`, template: elsewhere ? path : template }
    })
})

t.test(
  `${RUN_COUNT} odd requests are answered as documented, and none by a 5xx`,
  { timeout: 600_000 },
  async (t) => {
    const statuses: Record<number, number> = {}
    await fc.assert(
      fc.asyncProperty(request, async ({ template, ...sent }) => {
        const answer = await exchange(service.url, sent)
        statuses[answer.status] = (statuses[answer.status] ?? 0) + 1
        if (answer.status >= 500) throw new Error(`${sent.method} ${template}: status ${answer.status}`)
        const fault = check(sent.method, template, answer)
        if (fault !== null) throw new Error(fault)
        const odd = Object.entries(answer.headers).filter(
          ([name, value]) => !HEADERS[name]?.test(String(value)),
        )
        if (odd.length > 0) throw new Error(`${sent.method} ${template}: ${JSON.stringify(odd)}`)
      }),
      { numRuns: RUN_COUNT, endOnFailure: false },
    )
    t.comment(`by status: ${JSON.stringify(statuses)}`)
    t.ok((statuses[200] ?? 0) > RUN_COUNT / 20, 'many of them are good')
    t.equal((await exchange(service.url, { method: 'GET', path: '/readyz' })).status, 200)
    t.same(
      service.lines.filter(({ msg }) => msg === 'request failed'),
      [],
    )
  },
)
