import t from 'tap'
import { createHttp } from '../../src/http/server/server.ts'
import { openTab, startBrowser, withoutBrowser } from '../console/browser.ts'
import { aManagement } from './console/fixture.ts'
import { dependencies, ENTRY } from './fixture.ts'

/** A management listener with an API behind the page of its document. */
async function aPage(overrides = {}) {
  const { all, stored, logged } = dependencies(overrides)
  const http = createHttp({ ...all, host: '127.0.0.1', port: 0 })
  t.teardown(() => http.close())
  const { app } = aManagement({ document: await http.document(), askApi: http.ask })
  t.teardown(() => app.close())
  return { app, stored, logged }
}

const TRIED = { 'x-docs': 'try' }

t.test('the page of the document tries requests on its own origin, and the API answers them', async (t) => {
  const { app, stored } = await aPage()
  t.match((await app.inject('/docs/json')).json().servers, [{ url: '/docs/api' }])
  t.match((await app.inject('/openapi.json')).json().servers, [{ url: 'http://localhost:{port}' }])
  t.match((await app.inject('/docs/static/swagger-initializer.js')).body, "request.headers['x-docs'] = 'try'")

  const list = await app.inject({ url: '/docs/api/log/list?limit=1', headers: TRIED })
  t.match(list.json(), { items: [{ locator: ENTRY.locator }] })
  t.match(list.headers, { 'content-type': /^application\/json/ })
  const put = await app.inject({
    method: 'PUT',
    url: '/docs/api/preferences/PTY%2F1%20%C3%A4',
    headers: { ...TRIED, 'content-type': 'application/json' },
    payload: '{"preferredChannel":"SMS"}',
  })
  t.match(put, { statusCode: 200 })
  t.match(stored.get('PTY/1 ä'), { preferredChannel: 'SMS' })
  const sent = await app.inject({ method: 'POST', url: '/docs/api/send', headers: TRIED })
  t.match([sent.statusCode, sent.json()], [202, { status: 'accepted' }])
})

t.test('what the API refuses is refused as it does', async (t) => {
  const { app } = await aPage()
  const wrong = await app.inject({ url: '/docs/api/log/list?limit=0', headers: TRIED })
  t.match([wrong.statusCode, wrong.json()], [400, { errors: [{ parameter: 'limit' }] }])
  t.match(wrong.headers, { 'content-type': 'application/problem+json' })
  t.equal((await app.inject({ url: '/docs/api/metrics', headers: TRIED })).statusCode, 404)
})

t.test('tokens are asked for as by the API', async (t) => {
  const tokens = {
    keySetUrl: 'http://127.0.0.1:9/keys',
    issuer: null,
    audience: null,
    adminScope: 'admin',
    partyClaim: null,
  }
  const { app } = await aPage({ tokens })
  const without = await app.inject({ url: '/docs/api/log/list', headers: TRIED })
  t.equal(without.statusCode, 401)
  t.match(without.headers['www-authenticate'], /^Bearer /)
  const headers = { ...TRIED, authorization: 'Bearer nonsense' }
  const answer = await app.inject({ url: '/docs/api/log/list', headers })
  t.match(answer.headers['www-authenticate'], /invalid_token/)
})

t.test("a stranger's page gets nothing: it can send no such header, and no origin is allowed", async (t) => {
  const { app, stored } = await aPage()
  const payload = '{"preferredChannel":"SMS"}'
  for (const method of ['PUT', 'POST', 'GET'] as const) {
    const answer = await app.inject({
      method,
      url: method === 'GET' ? '/docs/api/log/list' : '/docs/api/preferences/PTY-1',
      headers: {
        origin: 'https://evil.example',
        ...(method === 'GET' ? {} : { 'content-type': 'text/plain' }),
      },
      ...(method === 'GET' ? {} : { payload }),
    })
    t.match(answer.json(), { status: 403, title: 'This is not allowed' }, method)
    t.notHas(answer.headers, 'access-control-allow-origin')
  }
  t.equal(stored.size, 0)
  const preflight = await app.inject({
    method: 'OPTIONS',
    url: '/docs/api/preferences/PTY-1',
    headers: {
      origin: 'https://evil.example',
      'access-control-request-method': 'PUT',
      'access-control-request-headers': 'x-docs',
    },
  })
  t.ok(preflight.statusCode >= 400)
  t.notHas(preflight.headers, 'access-control-allow-origin')
})

t.test('in a browser, a request is tried by two clicks', { skip: withoutBrowser }, async (t) => {
  const { app } = await aPage()
  const origin = await app.listen({ host: '127.0.0.1', port: 0 })
  const browser = await startBrowser()
  t.teardown(() => browser.close())
  const { page, complaints } = await openTab(browser, origin)
  await page.goto(`${origin}/docs/#/Log/listLog`)
  await page.getByRole('button', { name: 'Try it out' }).click()
  await page.getByRole('button', { name: 'Execute' }).click()
  await page.locator('.live-responses-table').getByText(ENTRY.locator).first().waitFor()
  t.same(complaints, [])
})
