import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { aConsole } from '../../routes/fixture.ts'
import { test } from '../browser.ts'
import { openView } from '../open-view.ts'

test('each part of the service has a dot on every page, and a reason where it is not well', async (t) => {
  let lookUps: string | null = null
  let isStarting = false
  const { status } = aConsole()
  const { page } = await openView(t, '#/rules', {
    status: async () => ({
      ...(await status()),
      ...{ lookUps, isStarting, consuming: isStarting ? 'the service is starting' : null },
    }),
  })
  const dots = page.getByRole('list', { name: 'State of the service' })
  await dots.waitFor()
  await dots.locator('[data-sign=dash]').waitFor()
  t.same(await dots.locator('[data-sign=dash]').allInnerTexts(), ['Receiving events'], 'judged by partition')
  await page.getByRole('link', { name: /^Unreadable\s*507$/ }).waitFor()
  await page.getByText('1 blocked partition, 1,204 events wait').click()
  await page.getByText(/claims\/3, since 31 Jan 2026, 13:00: locked\..* 1,204 events wait\./).waitFor()
  lookUps = 'policy administration is down'
  await page.clock.fastForward(5_000)
  await page
    .getByRole('alert')
    .getByText(/^Contact look-ups: policy administration is down.* 1,300 events wait, the oldest since/)
    .waitFor()
  t.same(await dots.locator('[data-sign=cross]').allInnerTexts(), ['Contact look-ups'])
  await page.route('**/status', (route) => route.abort())
  await page.clock.fastForward(5_000)
  await page.getByRole('alert').getByText('State unknown: The service did not respond.').waitFor()
  t.equal(await dots.locator('[data-sign=question]').count(), 3, 'nothing is known')
  t.equal(await page.getByRole('alert').getByText('policy administration is down').count(), 0)
  await page.unroute('**/status')
  lookUps = null
  isStarting = true
  await page.clock.fastForward(10_000)
  await page.getByRole('alert').getByText('Receiving events: the service is starting').waitFor()
  t.same(await dots.locator('[data-sign=question]').allInnerTexts(), ['Receiving events'])
})

test('every page says who holds messages, why and since when', async (t) => {
  const { status } = aConsole()
  const hold = { id: '7', by: 'alice', because: 'a wrong text', since: '2026-01-31T12:00:00.000000Z' }
  const { page } = await openView(t, '#/rules', {
    status: async () => ({ ...(await status()), holds: [{ ...hold, topics: ['claims'] }] }),
  })
  await page
    .getByRole('alert')
    .getByText('Messages are held (claims) since 31 Jan 2026, 13:00, by alice: a wrong text.')
    .waitFor()
})

test('every page says what is wrong around the service', async (t) => {
  const { status } = aConsole()
  const notice = { subject: 'replicas', text: 'two rule tables since noon', remedy: 'roll back' }
  const { page } = await openView(t, '#/rules', {
    status: async () => ({ ...(await status()), notices: [notice] }),
  })
  await page.getByRole('alert').getByText('two rule tables since noon. roll back').waitFor()
})

test('nothing moves under a click when the state of the service becomes known', async (t) => {
  const { status } = aConsole()
  const { page } = await openView(t, '#/rules', {
    status: async () => ({ ...(await status()), blocked: [] }),
  })
  const held = Promise.withResolvers<void>()
  await page.route('**/status', (route) => held.promise.then(() => route.continue()))
  await page.reload()
  const inForce = page.getByText('In force since')
  await inForce.waitFor()
  const before = await inForce.boundingBox()
  const dots = page.getByRole('list', { name: 'State of the service' })
  t.equal(await dots.locator('[data-sign=question]').count(), 3)
  held.resolve()
  await dots.locator('[data-sign=dot]').first().waitFor()
  t.same(await inForce.boundingBox(), before)
})

test('a response that the network cuts off counts as a lost connection, and is read again', async (t) => {
  const { page } = await openView(t, '#/rules')
  const cut = createServer((_, response) => {
    response.writeHead(200, { 'content-length': 100 })
    response.write('{"revision":', () => response.destroy())
  })
  await once(cut.listen(0, '127.0.0.1'), 'listening')
  t.teardown(() => cut.close())
  const { port } = cut.address() as AddressInfo
  await page.route('**/data/rules', (route) => route.continue({ url: `http://127.0.0.1:${port}/` }))
  await page.reload()
  await page.getByRole('alert').getByText('The connection was lost.').waitFor()
  await page.unroute('**/data/rules')
  await page.clock.fastForward(10_000)
  await page.getByText('In force since').waitFor()
})
