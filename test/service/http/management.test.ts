import { connect } from 'node:net'
import { text } from 'node:stream/consumers'
import { Ajv2020 } from 'ajv/dist/2020.js'
import addFormats from 'ajv-formats'
import t from 'tap'
import { buildApp } from '../../../src/service/http/public.ts'
import { serve } from '../../../src/service/http/server/server.ts'
import { aManagement } from '../../console/routes/fixture.ts'
import { until } from '../../stack/until.ts'
import { anyTokensOf, dependencies } from './fixture.ts'

const TOKENS = anyTokensOf({ keySetUrl: 'http://127.0.0.1:9/keys' })

async function documentOf(tokens: typeof TOKENS | null) {
  const app = buildApp(dependencies({ tokens }).all)
  t.teardown(() => app.close())
  await app.ready()
  // biome-ignore lint/suspicious/noExplicitAny: an OpenAPI document has no static type
  return app.swagger() as any
}

const open = await documentOf(null)
const closed = await documentOf(TOKENS)
const LOCAL = { host: '127.0.0.1', port: 0 }
const management = serve(aManagement({ document: open }).app, LOCAL)
const url = await management.listen()
t.teardown(() => management.close())

t.test('the document is served as OpenAPI 3.1', async (t) => {
  const response = await fetch(`${url}/openapi.json`)
  t.match(response.headers.get('content-type'), /^application\/json/)
  const document = await response.json()
  t.match(document, { openapi: /^3\.1\./, info: { title: 'notifications-service', version: String } })
  t.strictSame(document, JSON.parse(JSON.stringify(open)))
})

// biome-ignore lint/suspicious/noExplicitAny: an operation has no static type
function operationsOf(document: any): [string, string, any][] {
  return Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods as object).map(([method, operation]): [string, string, unknown] => [
      path,
      method,
      operation,
    ]),
  )
}

t.test('it documents exactly the routes of the specification', async (t) => {
  const operations = Object.entries(open.paths).flatMap(([path, methods]) =>
    Object.keys(methods as object).map((method) => `${method} ${path}`),
  )
  t.strictSame(operations.sort(), [
    'get /healthz',
    'get /log/list',
    'get /log/{locator}',
    'get /notifications/list',
    'get /notifications/{locator}',
    'get /preferences',
    'get /preferences/list',
    'get /preferences/{partyLocator}',
    'get /readyz',
    'post /send',
    'put /preferences',
    'put /preferences/{partyLocator}',
  ])
})

t.test('its schemas have names, for generated clients', async (t) => {
  t.strictSame(Object.keys(open.components.schemas).sort(), [
    'Decision',
    'ExplainedLogEntry',
    'LogEntry',
    'LogPage',
    'NewPreferences',
    'PartyPreferences',
    'Preferences',
    'PreferencesPage',
    'Problem',
  ])
})

t.test('every operation has id, tag, summary and examples; every parameter is described', async (t) => {
  const known = open.tags.map(({ name }: { name: string }) => name)
  const ids = new Set()
  for (const [path, method, operation] of operationsOf(open)) {
    const name = `${method} ${path}`
    t.match(operation, { operationId: /^[a-z][A-Za-z]+$/, summary: /^[A-Z].*[^.]$/, tags: [String] }, name)
    t.ok(known.includes(operation.tags[0]), name)
    ids.add(operation.operationId)
    for (const parameter of operation.parameters ?? []) t.match(parameter, { description: /./ }, name)
    for (const { content } of [operation.requestBody, ...Object.values(operation.responses)].filter(
      Boolean,
    )) {
      for (const media of Object.values(content as object)) t.hasProp(media, 'example', name)
    }
  }
  t.equal(ids.size, operationsOf(open).length, 'ids are unique')
})

t.test('every schema is valid JSON Schema 2020-12, and every example conforms to its schema', async (t) => {
  const ajv = new Ajv2020({ strict: true, strictTypes: false, allErrors: true })
  addFormats.default(ajv)
  ajv.addVocabulary(['components', 'example'])
  const count = { schemas: 0, examples: 0 }
  // biome-ignore lint/suspicious/noExplicitAny: an OpenAPI document has no static type
  const visit = (value: any, at: string): void => {
    if (typeof value !== 'object' || value === null) return
    const check = (schema: object, examples: readonly unknown[]) => {
      const validate = ajv.compile({ ...schema, components: open.components })
      count.schemas++
      for (const example of examples) {
        count.examples++
        t.ok(validate(example), `${at}: ${ajv.errorsText(validate.errors)}`)
      }
    }
    if (value.schema !== undefined) check(value.schema, 'example' in value ? [value.example] : [])
    if (Array.isArray(value.examples)) check(value, value.examples)
    if (value.type !== undefined && 'default' in value) check(value, [value.default])
    for (const [key, inner] of Object.entries(value)) {
      if (key !== 'example' && key !== 'examples') visit(inner, `${at}/${key}`)
    }
  }
  visit(JSON.parse(JSON.stringify(open.paths)), '')
  t.ok(count.schemas > 60 && count.examples > 60, JSON.stringify(count))
})

t.test('errors are documented as problems, and tokens on the routes that require them', async (t) => {
  const { get } = closed.paths['/log/list']
  t.strictSame(get.security, [{ token: [] }])
  for (const status of ['400', '401', '403', '503']) {
    t.match(get.responses[status].content, {
      'application/problem+json': {
        schema: { $ref: '#/components/schemas/Problem' },
        example: { status: Number(status) },
      },
    })
  }
  t.strictSame(closed.paths['/healthz'].get.security, [])
  t.notHas(closed.paths['/healthz'].get.responses, '401')
  t.notHas(open.paths['/log/list'].get.responses, '401')
})

t.test('/metrics returns the metrics with their content type', async (t) => {
  const response = await fetch(`${url}/metrics`)
  t.equal(response.headers.get('content-type'), 'text/x')
  t.equal(await response.text(), 'up 1\n')
})

t.test('requests for /metrics at one time share one reading, and later ones read anew', async (t) => {
  let count = 0
  const { promise: released, resolve: release } = Promise.withResolvers<void>()
  const exposeMetrics = async () => {
    const number = ++count
    await released
    return { contentType: 'text/x', text: `readings ${number}\n` }
  }
  const { app } = aManagement({ exposeMetrics })
  t.teardown(() => app.close())
  const read = async () => (await app.inject('/metrics')).body
  const together = [read(), read(), read()]
  await until(() => count > 0, { what: 'the first reading' })
  release()
  t.strictSame(await Promise.all(together), ['readings 1\n', 'readings 1\n', 'readings 1\n'])
  t.equal(await read(), 'readings 2\n')
})

t.test('a request for a foreign host name is refused on every route', async (t) => {
  const named = serve(aManagement({ hosts: ['ops.internal', 'Ops-2'] }).app, LOCAL)
  t.teardown(() => named.close())
  const { port } = new URL(await named.listen())
  const statusOf = async (host: string, path = '/metrics') => {
    const socket = connect(Number(port), '127.0.0.1')
    socket.write(`GET ${path} HTTP/1.1\r\n${host}Connection: close\r\n\r\n`)
    return Number((await text(socket)).split(' ')[1])
  }
  const own = ['localhost', 'LOCALHOST:1', 'localhost.', 'ops.internal', 'ops-2:4007', '10.1.2.3', '[::1]:80']
  for (const host of own) t.equal(await statusOf(`Host: ${host}\r\n`), 200, host)
  const names = ['evil.example:4007', 'localhost.evil.example', '127.0.0.1.evil.example', 'ops', '']
  const slips = ['2130706433', '0x7f.1', '[::1', '[evil.example]', 'localhost, x', 'localhost@x']
  for (const host of [...names, ...slips]) t.equal(await statusOf(`Host: ${host}\r\n`), 421, host)
  for (const path of ['/console', '/console/data/log/list', '/openapi.json']) {
    t.equal(await statusOf('Host: evil.example\r\n', path), 421, path)
  }
  t.equal(await statusOf('Host: evil.example\r\nX-Forwarded-Host: localhost\r\n'), 421)
  const response = await fetch(`${url}/metrics`)
  t.equal(response.status, 200, 'which is asked for by its address')
})

t.test('a port in use names the variable to change', async (t) => {
  const { port } = new URL(url)
  const other = serve(aManagement().app, { ...LOCAL, port: Number(port) }, 'MANAGEMENT_')
  await t.rejects(other.listen(), { message: /set MANAGEMENT_PORT to a free one$/ })
  await other.close()
})

t.test('a probe of the wrong listener is told the right one, also in the log', async (t) => {
  const { all, logged } = dependencies()
  const app = buildApp(all)
  t.teardown(() => app.close())
  const detail = '/startupz is served at MANAGEMENT_PORT, not here.'
  t.match((await app.inject('/startupz')).json(), { status: 404, detail })
  t.ok(logged.some((line) => line.includes(detail)))
  t.match(await (await fetch(`${url}/healthz`)).json(), {
    status: 404,
    detail: '/healthz is served at PORT, not here.',
  })
  t.notOk((await app.inject('/nothing')).json().detail)
})
