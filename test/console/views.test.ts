import type { Locator, Page } from 'playwright-core'
import t, { type Test } from 'tap'
import type { ConsoleData } from '../../src/http/console/data.ts'
import { readConsolePage } from '../../src/http/console/page.ts'
import { aConsole, aManagement } from '../http/console/fixture.ts'
import { openTab, startBrowser, type Tab, withoutBrowser } from './browser.ts'

if (withoutBrowser) t.plan(0, withoutBrowser)
else await testViews()

/** The page by itself, over data that the tests make up. */
async function testViews(): Promise<void> {
  const browser = await startBrowser()
  t.teardown(() => browser.close())

  /** Opens a view of a console with this data. */
  async function open(
    t: Test,
    path: string,
    data: Partial<ConsoleData> = {},
  ): Promise<Tab & { readonly url: string }> {
    const { app } = aManagement({ consolePage: readConsolePage(), consoleData: aConsole(data) })
    const url = await app.listen({ port: 0, host: '127.0.0.1' })
    const tab = await openTab(browser, url)
    t.teardown(async () => {
      await tab.close()
      await app.close()
    })
    await tab.page.clock.install()
    await tab.page.goto(`${url}/console${path}`)
    return { ...tab, url }
  }
  const live = (page: Page) => page.locator('button.live')

  t.test('figures that cannot be refreshed are not called live, and recover by themselves', async (t) => {
    const { page } = await open(t, '#/')
    const figure = page.getByRole('link', { name: /^All 2/ })
    await figure.waitFor()
    t.equal(await wordsOf(live(page)), 'Live')
    const outage = { status: 503, json: { detail: 'The database is not reachable.' } }
    await page.route('**/counts*', (route) => route.fulfill(outage))
    await page.clock.fastForward(10_000)
    await page.getByRole('button', { name: /^Not current since \d\d:\d\d$/ }).waitFor()
    t.match(
      await page.getByRole('alert').innerText(),
      /Not current since \d\d:\d\d\. The database is not reachable\./,
    )
    t.ok(await figure.isVisible(), 'what was known is still shown')
    await page.unroute('**/counts*')
    await page.getByRole('button', { name: 'Try again' }).click()
    await page.getByText('Live', { exact: true }).waitFor()
    t.equal(await page.getByRole('alert').innerText(), '')
    await page.route('**/counts*', (route) => route.abort())
    await page.clock.fastForward(10_000)
    await page
      .getByText(/^Not current since/)
      .first()
      .waitFor()
    await page.unroute('**/counts*')
    await page.clock.fastForward(10_000)
    await page.getByText('Live', { exact: true }).waitFor()
  })

  t.test('figures that take long to be refreshed are not called live', async (t) => {
    const { page } = await open(t, '#/')
    await page.getByRole('link', { name: /^All 2/ }).waitFor()
    await page.route('**/counts*', () => {})
    await page.clock.fastForward(10_000)
    await page.clock.fastForward(5_000)
    await page
      .getByText(/^Not current since/)
      .first()
      .waitFor()
  })

  t.test('a list that could not be read is read again by itself', async (t) => {
    const { page } = await open(t, '#/')
    await page.route('**/not-told*', (route) => route.abort())
    await page.goto(`${page.url().split('#')[0]}#/not-told`)
    await page.getByText('Could not load this page. The service did not respond.').waitFor()
    await page.unroute('**/not-told*')
    await page.clock.fastForward(10_000)
    await page.getByRole('row', { name: 'claim.paid' }).first().waitFor()
  })

  t.test(
    'period and grouping of the overview are in its address, and the way back leads to them',
    async (t) => {
      const { page } = await open(t, '#/?window=7d&by=eventType')
      const heading = (words: string) => page.getByRole('heading', { name: words }).waitFor()
      await heading('Entries by event type, last 7 days')
      await page.getByText('1 hour', { exact: true }).click()
      await heading('Entries by event type, last 1 hour')
      await page.locator('.choices').getByText('Reason').click()
      await heading('Entries by reason, last 1 hour')
      t.match(page.url(), /#\/\?window=1h&by=reason$/)
      await page.reload()
      await heading('Entries by reason, last 1 hour')
      await page.goBack()
      await heading('Entries by event type, last 1 hour')
      await page.goBack()
      await heading('Entries by event type, last 7 days')
    },
  )

  const WITH_TABLES = ['#/', '#/not-told', '#/log', '#/parties/PTY-1', '#/rejected', '#/rules']
  for (const path of WITH_TABLES) {
    t.test(`on a telephone nothing of ${path} is cut off, and each value has its name`, async (t) => {
      const { page, screenshot } = await open(t, path)
      await page.setViewportSize({ width: 390, height: 844 })
      const row = page.getByRole('row').filter({ has: page.getByRole('cell') })
      await row.first().waitFor()
      t.same(await page.evaluate(CUT_OFF), [])
      t.match(await page.evaluate(NAME_OF_FIRST_CELL), /^"(Time|Partition|Rule)"$/)
      await screenshot(`390${path.replace(/\W+/g, '-')}`)
    })
  }
}

/** What is wider than its place, and scrolls or is hidden there. */
const CUT_OFF = `[...document.querySelectorAll('body, body *')]
  .filter((element) => element.scrollWidth > element.clientWidth + 1 && !element.matches('.unseen, .skip'))
  .filter((element) => element.clientWidth > 0 && getComputedStyle(element).display !== 'inline')
  .map((element) => element.tagName + '.' + element.className)`

const NAME_OF_FIRST_CELL = `getComputedStyle(document.querySelector('td'), '::before').content`

async function wordsOf(place: Locator): Promise<string> {
  return (await place.innerText()).trim()
}
