import { aConsole, aRequestDesk, REQUEST, TIME } from '../../routes/fixture.ts'
import { test } from '../browser.ts'
import { openView } from '../open-view.ts'

test('figures that cannot be refreshed are marked as outdated, and recover automatically', async (t) => {
  const { page } = await openView(t, '#/')
  const figure = page.getByRole('link', { name: /^All 2/ })
  const alert = page.getByRole('alert').filter({ hasText: /^Last updated \d+ \w+ \d{4}, \d\d:\d\d\./ })
  await figure.waitFor()
  const outage = { status: 503, json: { detail: 'The database is not reachable.' } }
  await page.route('**/counts*', (route) => route.fulfill(outage))
  await page.clock.fastForward(10_000)
  await alert.getByText('The database is not reachable.').waitFor()
  t.ok(await figure.isVisible(), 'what was known is still shown')
  await page.unroute('**/counts*')
  await page.getByRole('button', { name: 'Try again' }).click()
  await alert.waitFor({ state: 'detached' })
  await page.route('**/counts*', () => {})
  await page.clock.fastForward(10_000)
  await page.clock.fastForward(5_000)
  await alert.getByText('is slow to respond').waitFor()
})

test('the address holds the period of the overview, and Back returns to it', async (t) => {
  const { page } = await openView(t, '#/?window=7d')
  const heading = (words: string) => page.getByRole('heading', { name: words }).waitFor()
  await heading('Entries by status, last 7 days')
  await page.getByText('Last hour', { exact: true }).click()
  await heading('Entries by status, last hour')
  t.match(page.url(), /#\/\?window=1h$/)
  await page.reload()
  await heading('Entries by status, last hour')
  await page.goBack()
  await heading('Entries by status, last 7 days')
})

test('what waits for a person stands above the period, each with its total and a link', async (t) => {
  const { page } = await openView(t, '#/?window=1h')
  const figure = (name: string) => page.locator('main').getByRole('link', { name })
  await figure('Blocked partitions 1').click()
  await page.getByText(/claims\/3, since/).waitFor()
  await figure('Given up 5').click()
  await page.waitForURL(/#\/log\?status=FAILED&notTold=true$/)
  await page.goBack()
  await figure('Unreadable messages 507').click()
  await page.waitForURL(/#\/rejected/)
})

test('figures lead to the entries that they count', async (t) => {
  const { countEntries } = aConsole()
  const count = { startS: 60, count: 7, givenUp: 5 }
  const { page } = await openView(t, '#/?window=7d', {
    countEntries: async (window) => ({
      ...(await countEntries(window)),
      counts: [{ ...count, status: 'FAILED' as const }],
    }),
  })
  for (const [figure, address] of [
    [page.getByRole('link', { name: /^Failed/ }), /#\/log\?status=FAILED&from=7d$/],
    [page.getByRole('link', { name: '5 are given up' }), /#\/log\?status=FAILED&notTold=true&from=7d$/],
  ] as const) {
    await figure.click()
    await page.waitForURL(address)
    t.match(await page.getByLabel('From').inputValue(), /^\d{4}-/, 'the form says from when on')
    await page.goBack()
  }
  const bar = page.locator('a.bar[title*="Failed 7"]')
  const period = new URLSearchParams({ from: '1970-01-01T00:00:00.000Z', to: '1970-01-01T03:00:00.000Z' })
  t.equal(await bar.getAttribute('href'), `#/log?${period}`, 'a bar leads to its entries')
  await page.getByRole('link', { name: '5 are given up' }).focus()
  await page.keyboard.press('Tab')
  t.equal(await page.locator('a.bar:focus').count(), 1, 'also by the keyboard')
})

test('an operator holds all messages, or those of a topic, and resumes from any page', async (t) => {
  const added: unknown[] = []
  const { status } = aConsole()
  const holds = [
    { id: '12', by: 'alice', because: 'a wrong text', since: TIME, topics: null, waiting: 1_204 },
  ]
  let isHeld = false
  const { page } = await openView(t, '#/', {
    requests: aRequestDesk(added, {
      preview: async () => ({ count: 1, isMore: false, groups: [] }),
      get: async () => ({
        ...REQUEST,
        ...{ kind: 'hold', target: { topics: ['claims'] }, state: 'waiting', counts: {}, unchanged: [] },
      }),
    }),
    status: async () => ({
      ...(await status()),
      topics: ['billing', 'claims'],
      holds: isHeld ? holds : [],
    }),
  })
  const dialog = page.getByRole('dialog')
  await page.getByRole('button', { name: /^Hold all messages/ }).click()
  await dialog.getByText(/Events wait in the broker: nothing is skipped or failed/).waitFor()
  await dialog.getByLabel('About events of').selectOption('claims only')
  await dialog.getByRole('heading', { name: /^Hold messages about claims/ }).waitFor()
  await dialog.getByText(/^No message about events of claims is sent/).waitFor()
  await dialog.getByLabel(/^Reason/).fill('a wrong text')
  await dialog.getByRole('button', { name: 'Hold messages about claims', exact: true }).click()
  await dialog.getByText('In force: hold of claims. Nothing is sent, not even after a restart.').waitFor()
  await dialog.getByRole('button', { name: 'Close' }).click()
  t.match(added, [{ wanted: { kind: 'hold', topics: ['claims'] }, because: 'a wrong text' }])
  isHeld = true
  await page.goto(page.url().replace(/#.*/, '#/rules'))
  await page.clock.fastForward(10_000)
  await page.getByText('Messages are held (all topics): 1,204 events wait').click()
  await page.getByRole('button', { name: 'Resume: hold of all topics' }).click()
  await dialog
    .getByText(
      /^Held by alice: a wrong text\. Nothing is lost: 1,204 events wait\. Waiting messages are sent within seconds.* first deploy a rule that skips them\.$/,
    )
    .waitFor()
  await dialog.getByLabel(/^Reason/).fill('the text is right')
  await dialog.getByRole('button', { name: 'Resume', exact: true }).click()
  await dialog.getByRole('status').waitFor()
  isHeld = false
  await page.clock.fastForward(10_000)
  await page.getByText('Messages are held (all topics)').waitFor({ state: 'detached' })
  t.ok(await dialog.getByRole('status').isVisible(), 'the result stays until it is read')
  await dialog.getByRole('link', { name: 'Request 12' }).click()
  await dialog.waitFor({ state: 'detached' })
  t.match(added[1], { wanted: { kind: 'resume', hold: '12' }, because: 'the text is right' })
})

test('a burst leaves the other bars readable, and on a phone each dot has a name', async (t) => {
  const { countEntries } = aConsole()
  const count = { status: 'SENT' as const, givenUp: 0 }
  const { page } = await openView(t, '#/?window=1h', {
    countEntries: async (...asked) => ({
      ...(await countEntries(...asked)),
      counts: [
        { ...count, startS: 60, count: 1 },
        { ...count, startS: 120, count: 100 },
      ],
    }),
  })
  await page.getByText('heights by square root').waitFor()
  const heights = await page
    .locator('.bar > div')
    .evaluateAll((bars) => bars.map((bar) => Number.parseFloat(bar.style.height)))
  t.match(heights, [10, 100], 'a hundredth of the entries is a tenth as high')
  await page.setViewportSize({ width: 390, height: 844 })
  const dots = page.getByRole('list', { name: 'State of the service' })
  t.strictSame((await dots.innerText()).split(/\s+/), ['events', 'Database', 'Contact'])
})
