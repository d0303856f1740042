import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { showBlocked } from '../../../../src/service/model/service-status.ts'
import { aConsole, LOCKED, TIME } from '../../routes/fixture.ts'
import { accessibilityFaults, test } from '../browser.ts'
import { openView } from '../open-view.ts'

test('each part of the service has a dot on every page, and a reason where it is not well', async (t) => {
  let lookUps: string | null = null
  let retrying: number | null = 40
  let isStarting = false
  const { status } = aConsole()
  const { page } = await openView(t, '#/rules', {
    status: async () => ({
      ...(await status()),
      totals: { waiting: 1_300, waitingSince: TIME, rejected: 507, givenUp: 5, retrying },
      ...{
        lookUps,
        lookUpsFailSince: TIME,
        retryMaxAgeMs: 86_400_000,
        isStarting,
        consuming: isStarting ? 'the service is starting' : null,
      },
    }),
  })
  const dots = page.getByRole('list', { name: 'State of the service' })
  await dots.waitFor()
  await dots.locator('[data-sign=dash]').waitFor()
  t.strictSame(
    await dots.locator('[data-sign=dash]').allInnerTexts(),
    ['Receiving events'],
    'judged by partition',
  )
  await page.getByRole('link', { name: /^Unreadable\s*507$/ }).waitFor()
  await page.getByText('1 blocked partition, 1,204 events wait').click()
  await page
    .getByText(
      /claims\/3, since 31 Jan 2026, 13:00: locked\. Another transaction .*: end that transaction\. The command doctor names it\. 1,204 events wait\./,
    )
    .waitFor()
  lookUps = 'policy administration is down'
  await page.clock.fastForward(5_000)
  const outage = page.getByText('Contact look-ups: policy administration is down, since 31 Jan 2026, 13:00')
  await outage.click()
  await page
    .getByRole('alert')
    .getByText(
      /^Start .* it\. 40 messages have failed so far; each is tried again until 24 hours after its event\.$/,
    )
    .waitFor()
  retrying = null
  await page.clock.fastForward(5_000)
  await page
    .getByText(/ it\. Messages that fail meanwhile are tried again until 24 hours after their event\.$/)
    .waitFor()
  t.strictSame(await dots.locator('[data-sign=cross]').allInnerTexts(), ['Contact look-ups'])
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
  t.strictSame(await dots.locator('[data-sign=question]').allInnerTexts(), ['Receiving events'])
})

test('every page says who holds messages, why and since when', async (t) => {
  const { status } = aConsole()
  const hold = { id: '7', by: 'alice', because: 'a wrong text', since: '2026-01-31T12:00:00.000000Z' }
  let waiting: number | null | undefined
  const { page } = await openView(t, '#/', {
    status: async () => ({
      ...(await status()),
      holds: [{ ...hold, topics: ['claims'], waiting }],
      blocked: showBlocked([{ ...LOCKED, reason: 'held' }], () => TIME),
    }),
  })
  const notice = page.getByRole('alert').getByText('Messages are held (claims)')
  const words = async (text: string) => {
    await page.clock.fastForward(5_000)
    await notice.filter({ hasText: text }).waitFor()
  }
  await words(': counting the events that wait…')
  await notice.click()
  await page.getByText('Nothing is lost. Since 31 Jan 2026, 13:00, by alice: a wrong text.').waitFor()
  waiting = 0
  await words(': 0 events wait')
  const dot = page
    .getByRole('list', { name: 'State of the service' })
    .getByTitle('Receiving events: held: claims')
  t.equal(await dot.locator('[data-variant=warning]').count(), 1, 'also while no event waits')
  t.equal(await page.getByText(/blocked partition/i).count(), 0, 'a hold is no fault')
})

test('every page says what is wrong around the service', async (t) => {
  const { status } = aConsole()
  const notice = {
    subject: 'replicas',
    text: 'two rule tables since 2026-01-31T12:00:00.712343Z',
    remedy: 'roll back by the command `x`',
    entries: { eventType: 'claim.paid' },
  }
  const { page } = await openView(t, '#/rules', {
    status: async () => ({ ...(await status()), notices: [notice] }),
  })
  await page.getByRole('alert').getByText('Two rule tables since 31 Jan 2026, 13:00').click()
  await page.getByText('Roll back by the command x.').waitFor()
  await page.getByRole('link', { name: 'Who got them' }).click()
  await page.waitForURL(/#\/log\?eventType=claim\.paid$/)
})

test('each banner is one line until it is opened, and leaves the page its place', async (t) => {
  const { status } = aConsole()
  const hold = { by: 'alice', because: 'x'.repeat(400), since: TIME, waiting: 450 }
  const { page } = await openView(t, '#/rules', {
    status: async () => ({
      ...(await status()),
      ...{ lookUps: 'policy administration is down', lookUpsFailSince: TIME },
      holds: [0, 1, 2].map((id) => ({ ...hold, id: String(id), topics: [`topic-${id}`] })),
    }),
  })
  const heightPx = async (place = page.locator('header')) => (await place.boundingBox())?.height ?? 0
  await page.getByText('Messages are held (topic-2)').waitFor()
  t.ok((await heightPx()) <= 160, `${await heightPx()} px`)
  await page.setViewportSize({ width: 390, height: 844 })
  t.ok((await heightPx()) <= 300, `${await heightPx()} px on a phone`)
  const top = async (place: ReturnType<typeof page.locator>) => (await place.boundingBox())?.y ?? 0
  t.ok((await top(page.locator('header search'))) < (await top(page.locator('header .notice').first())))
  t.strictSame(await accessibilityFaults(page), [])
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
  t.strictSame(await inForce.boundingBox(), before)
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
