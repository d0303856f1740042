import { aConsole } from '../../routes/fixture.ts'
import { test } from '../browser.ts'
import { openView } from '../open-view.ts'

test('figures that cannot be refreshed are marked as outdated, and recover automatically', async (t) => {
  const { page } = await openView(t, '#/')
  const figure = page.getByRole('link', { name: /^All 2/ })
  const alert = page.getByRole('alert').filter({ hasText: /^Not current since \d+ \w+ \d{4}, \d\d:\d\d\./ })
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

test('the address holds period and grouping of the overview, and Back returns to them', async (t) => {
  const { page } = await openView(t, '#/?window=7d&by=status')
  const heading = (words: string) => page.getByRole('heading', { name: words }).waitFor()
  await heading('Entries by status, last 7 days')
  await page.getByText('Last hour', { exact: true }).click()
  await heading('Entries by status, last hour')
  await page.getByRole('navigation', { name: 'Group by' }).getByText('Reason').click()
  await heading('Entries by reason, last hour')
  t.match(page.url(), /#\/\?window=1h&by=reason$/)
  await page.reload()
  await heading('Entries by reason, last hour')
  await page.goBack()
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
  const count = { startS: 60, reason: 'no answer', count: 7, givenUp: 5 }
  const { page } = await openView(t, '#/?window=7d&by=reason', {
    countEntries: async (window, by) => ({
      ...(await countEntries(window, by)),
      counts: [{ ...count, status: 'FAILED' as const }],
    }),
  })
  for (const [figure, address] of [
    [page.getByRole('link', { name: /^Failed/ }), /#\/log\?status=FAILED&from=7d$/],
    [page.getByRole('link', { name: '5 are given up' }), /#\/log\?status=FAILED&notTold=true&from=7d$/],
    [
      page.locator('main').getByRole('link', { name: 'no answer 7' }).first(),
      /#\/log\?reason=no\+answer&from=7d$/,
    ],
  ] as const) {
    await figure.click()
    await page.waitForURL(address)
    t.match(await page.getByLabel('From').inputValue(), /^\d{4}-/, 'the form says from when on')
    await page.goBack()
  }
  await page.getByRole('navigation', { name: 'Group by' }).getByText('Status').click()
  const bar = page.locator('a.bar[title*="Failed 7"]')
  t.match(await bar.getAttribute('href'), /^#\/log\?from=.*&to=/, 'a bar leads to its entries')
  await page.getByRole('link', { name: '5 are given up' }).focus()
  await page.keyboard.press('Tab')
  t.equal(await page.locator('a.bar:focus').count(), 1, 'also by the keyboard')
})
