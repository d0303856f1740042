import { readFile } from 'node:fs/promises'
import type { Locator, Page } from 'playwright-core'
import t, { type Test } from 'tap'
import type { ConsoleData } from '../../src/http/console/data.ts'
import { readConsolePage } from '../../src/http/console/page.ts'
import { aConsole, aManagement, aWorkbench, PREFERENCES, TIME } from '../http/console/fixture.ts'
import { ENTRY } from '../http/fixture.ts'
import { openTab, startBrowser, type Tab, withoutBrowser } from './browser.ts'

if (withoutBrowser) t.plan(0, withoutBrowser)
else await testViews()

/** The page by itself, over data that the tests make up. */
const GIVEN_UP = {
  ...ENTRY,
  status: 'FAILED' as const,
  failureReason: 'contact could not be resolved: HTTP 500',
  attemptCount: 3,
  givenUp: true,
}
const withEntry = (entry: typeof GIVEN_UP): Partial<ConsoleData> => ({
  logEntries: { list: async () => ({ items: [entry], next: null }), get: async () => entry },
})

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
    const { page } = await open(t, '#/', withEntry(GIVEN_UP))
    await page.route('**/log/list*', (route) => route.abort())
    await page.getByRole('link', { name: 'Not told' }).click()
    await page.getByText('Could not load this page. The service did not respond.').waitFor()
    await page.unroute('**/log/list*')
    await page.clock.fastForward(10_000)
    await page.getByRole('row', { name: GIVEN_UP.eventType }).first().waitFor()
  })

  t.test(
    'period and grouping of the overview are in its address, and the way back leads to them',
    async (t) => {
      const { page } = await open(t, '#/?window=7d&by=eventType')
      const heading = (words: string) => page.getByRole('heading', { name: words }).waitFor()
      await heading('Entries by event type, last 7 days')
      await page.getByText('1 hour', { exact: true }).click()
      await heading('Entries by event type, last 1 hour')
      await page.getByRole('navigation', { name: 'Group by' }).getByText('Reason').click()
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

  t.test('figures lead to the entries that they count', async (t) => {
    const { page } = await open(t, '#/?window=7d&by=eventType')
    await page.getByRole('link', { name: /^Sent/ }).click()
    await page.getByRole('heading', { name: 'Log' }).waitFor()
    t.match(page.url(), /#\/log\?status=SENT&from=7d$/)
    t.match(await page.getByLabel('From').inputValue(), /^\d{4}-/, 'the form says from when on')
    await page.goBack()
    await Promise.all([
      page.waitForRequest(/log\/list\?eventType=claim\.paid&from=7d/),
      page.locator('.legend').getByRole('link', { name: 'claim.paid' }).click(),
    ])
  })

  t.test('a reason leads to all entries with it, and Not told to the log narrowed down', async (t) => {
    const { page } = await open(t, '#/', withEntry(GIVEN_UP))
    await Promise.all([
      page.waitForRequest(/log\/list\?notTold=true/),
      page.getByRole('link', { name: 'Not told' }).click(),
    ])
    await page.getByRole('heading', { name: 'Not told' }).waitFor()
    await Promise.all([
      page.waitForRequest(/log\/list\?reason=/),
      page.getByTitle('All entries with this reason').first().click(),
    ])
  })

  t.test('a row opens its entry wherever it is clicked, by links that are not nested', async (t) => {
    const { page } = await open(t, '#/log', withEntry(GIVEN_UP))
    const row = page.getByRole('row', { name: 'claim.rejected' })
    await row.waitFor()
    t.equal(await page.locator('a a, a button').count(), 0)
    t.equal(await row.getByRole('link').count(), 2, 'the entry and all with its reason')
    const [opened] = await Promise.all([
      page.context().waitForEvent('page'),
      row.getByText('EMAIL').click({ button: 'middle', force: true }),
    ])
    await opened.waitForURL(/#\/log\/NTF-/)
    const { x, y, width, height } = (await row.boundingBox()) ?? { x: 0, y: 0, width: 0, height: 0 }
    await page.mouse.click(x + width * 0.3, y + height - 2)
    await page.waitForURL(/#\/log\/NTF-/)
  })

  const LONG = `PTY-\u05D0${'0123456789'.repeat(25)}`
  t.test('long values are cut after two lines, and whole on hover and on focus', async (t) => {
    const { page } = await open(t, '#/log', withEntry({ ...GIVEN_UP, partyLocator: LONG, eventType: LONG }))
    const row = page.getByRole('row', { name: LONG })
    await row.waitFor()
    const heightPx = async () => (await row.boundingBox())?.height ?? 0
    t.ok((await heightPx()) <= 60, `${await heightPx()} px`)
    t.equal(await row.getByTitle(LONG).count(), 2)
    t.equal(await row.locator('bdi', { hasText: LONG }).count(), 2, 'its direction stays its own')
    await row.getByRole('link').first().focus()
    await page.keyboard.press('Shift+Tab')
    await page.keyboard.press('Tab')
    t.ok((await heightPx()) > 60, 'on focus it is whole')
  })

  t.test('a list says how long ago something was, and exactly when on hover', async (t) => {
    const createdAt = new Date().toISOString().replace('Z', '000Z')
    const { page } = await open(t, '#/log', withEntry({ ...GIVEN_UP, createdAt }))
    const cell = page.getByRole('cell').first()
    await cell.getByText('just now').waitFor()
    t.match(await cell.getAttribute('title'), /^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d \(\d{4}-.*Z\)$/)
    await page.clock.fastForward(300_000)
    await cell.getByText('5 min ago').waitFor()
  })

  t.test('a status has its sign and words in normal case', async (t) => {
    const { page } = await open(t, '#/log', withEntry(GIVEN_UP))
    t.equal(await page.locator('.badge').innerText(), 'Failed')
    t.match(await page.evaluate(SIGN_OF_BADGE), /✕/)
  })

  t.test('the filters in force are shown, each can be taken away, and the list is in sight', async (t) => {
    const path = '#/log?notTold=true&status=FAILED&eventType=claim.paid'
    const { page } = await open(t, path, withEntry(GIVEN_UP))
    for (const [width, height, beforeY] of [
      [1280, 800, 400],
      [390, 844, 500],
    ] as const) {
      await page.setViewportSize({ width, height })
      const row = page.getByRole('row', { name: 'claim.rejected' })
      await row.waitFor()
      const { y } = (await row.boundingBox()) ?? { y: height }
      t.ok(y < beforeY, `${y} px at ${width}`)
    }
    await page.getByRole('link', { name: 'Status: Failed' }).click()
    await page.waitForURL(/#\/log\?notTold=true&eventType=claim\.paid$/)
    t.equal(await page.evaluate('document.activeElement.tagName'), 'SUMMARY', 'the focus is not lost')
  })

  t.test('on a telephone a card leaves out values that are missing, not those that were', async (t) => {
    const { page } = await open(t, '#/parties/PTY-1', {
      preferences: {
        unknownEventTypes: async () => [],
        get: async () => PREFERENCES,
        changes: async () => [
          { changedAt: TIME, changedBy: null, before: PREFERENCES, after: { ...PREFERENCES, phone: null } },
        ],
      },
    })
    await page.setViewportSize({ width: 390, height: 844 })
    const history = page.getByRole('region', { name: 'Changes to preferences' })
    await history.getByText('was +41 44 000 00 00').waitFor()
    t.notOk(await history.locator('td[data-column="Changed by"]').isVisible())
  })

  t.test('an empty list says whether there is nothing or nothing that matches', async (t) => {
    const none = { list: async () => ({ items: [], next: null }), get: async () => null }
    const { page, url } = await open(t, '#/log', { logEntries: none })
    await page.getByText('There are no entries yet.').waitFor()
    await page.goto(`${url}/console#/log?status=SENT&rule=sms`)
    await page.getByText('No entries match Status: Sent, Rule: sms.').waitFor()
  })

  t.test('the head of a long list stays in sight', async (t) => {
    const items = Array.from({ length: 40 }, (_, i) => ({ ...GIVEN_UP, locator: `NTF-${i}` }))
    const list = async () => ({ items, next: null })
    const { page } = await open(t, '#/log', { logEntries: { list, get: async () => null } })
    await page.getByRole('row').nth(40).scrollIntoViewIfNeeded()
    const head = await page.getByRole('columnheader', { name: 'Status' }).boundingBox()
    t.equal(head?.y, 0)
  })

  t.test('the overview says how many of the failed entries are given up, and leads to them', async (t) => {
    const { countEntries } = aConsole()
    const { page } = await open(t, '#/', {
      countEntries: async (window) => ({
        ...(await countEntries(window)),
        counts: [
          { startS: 60, status: 'FAILED', reason: 'x', eventType: 'claim.paid', count: 7, givenUp: 5 },
        ],
      }),
    })
    await page.getByRole('link', { name: '5 are given up' }).click()
    await page.waitForURL(/#\/log\?status=FAILED&notTold=true&from=24h$/)
  })

  t.test('what is given up is said to be, wherever it is listed', async (t) => {
    const { page, url } = await open(t, '#/log', withEntry(GIVEN_UP))
    const words = /HTTP 500\s*, given up after 3 attempts/
    await page.getByRole('cell', { name: words }).waitFor()
    await page.goto(`${url}/console#/parties/PTY-1`)
    await page.getByRole('region', { name: 'Last entries' }).getByRole('cell', { name: words }).waitFor()
  })

  t.test('the log is searched by reason and rule, and saved as a file', async (t) => {
    const { page } = await open(t, '#/log', withEntry(GIVEN_UP))
    await page.getByText('Filters').click()
    await page.getByLabel('Rule').fill('unresolved')
    await Promise.all([
      page.waitForRequest(/log\/list\?rule=unresolved$/),
      page.getByRole('button', { name: 'Search' }).click(),
    ])
    await page.getByTitle('All entries with this reason').click()
    await page.waitForURL(/#\/log\?reason=contact\+could\+not\+be\+resolved$/)
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('button', { name: 'Download as CSV' }).click(),
    ])
    t.equal(download.suggestedFilename(), 'log.csv')
    const [head, line] = (await readFile(await download.path(), 'utf8')).split('\r\n')
    t.match(head, /^createdAt,locator,.*,givenUp,failureReason,sentAt$/)
    t.match(line, /FAILED,3,true,contact could not be resolved: HTTP 500,/)
    t.notMatch(line, 'CLM-1', 'no text of a message')
  })

  t.test('an entry leads to its trace, and to all with its reason', async (t) => {
    const { page } = await open(t, `#/log/${ENTRY.locator}`, withEntry(GIVEN_UP))
    const trace = page.getByRole('link', { name: '4bf92f3577b34da6a3ce929d0e0e4736' })
    t.equal(await trace.getAttribute('href'), 'https://traces.example/4bf92f3577b34da6a3ce929d0e0e4736')
    t.equal(await trace.getAttribute('rel'), 'noopener noreferrer')
    await page
      .getByRole('link', { name: /^contact could not/ })
      .first()
      .click()
    await page.waitForURL(/#\/log\?reason=contact\+could\+not\+be\+resolved$/)
  })

  t.test('a member without preferences is said to have none stored', async (t) => {
    const none = { list: async () => ({ items: [], next: null }), get: async () => null }
    const { page } = await open(t, '#/parties/nobody', { logEntries: none })
    await page.getByText('No preferences are stored for this member.').waitFor()
    await page.getByText('The log has no entry for this party locator.').waitFor()
  })

  t.test('a draft of files that are no longer in force is said to be one, and kept or dropped', async (t) => {
    const workbench = aWorkbench()
    const { start } = workbench
    const { page } = await open(t, '#/workbench', { workbench })
    const cell = page.getByRole('region', { name: 'The rules' }).getByRole('textbox').nth(1)
    const outdated = page.getByText('Others have changed the files in force since you began this draft')
    const deploy = async (because: string) => {
      const grid = { columns: ['rule', 'because'], rows: [['muted', because]] }
      Object.assign(start, { table: { ...start.table, grid } })
      await page.reload()
      await cell.waitFor()
    }
    await cell.waitFor()
    await deploy('Nobody reads it.')
    t.equal(await cell.inputValue(), 'Nobody reads it.', 'what nobody has touched follows')
    t.equal(await outdated.count(), 0)
    await cell.fill('Mine.')
    await page.reload()
    await cell.waitFor()
    t.equal(await outdated.count(), 0)
    await deploy('Theirs.')
    await outdated.waitFor()
    t.equal(await cell.inputValue(), 'Mine.')
    await page.getByRole('button', { name: 'Keep my draft' }).click()
    await outdated.waitFor({ state: 'hidden' })
    await page.reload()
    await cell.waitFor()
    t.equal(await outdated.count(), 0)
    await deploy('Theirs again.')
    await page.getByRole('button', { name: 'Drop my draft' }).click()
    await outdated.waitFor({ state: 'hidden' })
    t.equal(await cell.inputValue(), 'Theirs again.')
  })

  t.test('broken promises that are not listed are counted, and not called kept', async (t) => {
    const file = { faults: [], faultsLeftOut: { count: 0, rows: [] }, warnings: [], summary: '1 rule' }
    const rows = ['first', 'second', 'third'].map((name) => [name, ''])
    const { start } = aWorkbench()
    const { page } = await open(t, '#/workbench', {
      workbench: aWorkbench({
        start: { ...start, promises: { ...start.promises, grid: { columns: ['promise', 'because'], rows } } },
        review: async () => ({
          table: file,
          promises: {
            ...file,
            faults: [{ row: 2, column: null, text: 'first is broken' }],
            faultsLeftOut: { count: 4, rows: [4] },
          },
          rows: { summary: '', changes: [] },
          proposal: '',
          diff: null,
        }),
      }),
    })
    // Typing is what the answer waits for.
    await page.clock.fastForward(1_000)
    await page.getByText('2 promises of 3 broken').waitFor()
    await page.getByText('And 1 more promise is broken').waitFor()
    await page.getByText('1 promise kept').click()
    t.same(await page.locator('details[open] li').allInnerTexts(), ['second'])
  })
}

const SIGN_OF_BADGE = `getComputedStyle(document.querySelector('.badge'), '::before').content`

async function wordsOf(place: Locator): Promise<string> {
  return (await place.innerText()).trim()
}
