import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Page, Request as PageRequest } from 'playwright-core'
import t, { type Test } from 'tap'
import type { SearchHit } from '../../src/core/log/search.ts'
import type { ConsoleData } from '../../src/http/console/data.ts'
import { aConsole, PREFERENCES, serveConsole, TIME } from '../http/console/fixture.ts'
import { ENTRY, locator } from '../http/fixture.ts'
import { until } from '../stack/until.ts'
import { accessibilityFaults, openTab, startBrowser, waitUntilItFits, withoutBrowser } from './browser.ts'

if (withoutBrowser) t.plan(0, withoutBrowser)
else await testViews()

/** The page by itself, over data that the tests make up. */
const GIVEN_UP = {
  ...ENTRY,
  because: 'Policy administration could not be asked about the member.',
  status: 'FAILED' as const,
  failureReason: 'contact could not be resolved: HTTP 500',
  attemptCount: 3,
  givenUp: true,
  receipt: null,
  recordedOnly: false,
}
const withEntry = (entry: typeof GIVEN_UP): Partial<ConsoleData> => ({
  logEntries: { list: async () => ({ items: [entry], next: null }), get: async () => entry },
})

async function testViews(): Promise<void> {
  const browser = await startBrowser()
  t.teardown(() => browser.close())
  const tab = await openTab(browser, 'http://127.0.0.1')
  const { page } = tab

  /** Opens a view of a console with this data. */
  async function open(t: Test, path: string, data: Partial<ConsoleData> = {}, mayAsk = true) {
    const http = serveConsole(data, { isLoopback: mayAsk })
    const url = await http.listen()
    t.teardown(async () => {
      await tab.renew()
      await http.close()
    })
    await page.clock.install()
    await page.goto(`${url}/console${path}`)
    return { page, url }
  }
  const dots = (page: Page) => page.getByRole('list', { name: 'State of the service' })

  t.test('figures that cannot be refreshed are marked as outdated, and recover automatically', async (t) => {
    const { page } = await open(t, '#/')
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

  t.test('each part of the service has a dot on every page, and a reason where it is not well', async (t) => {
    let lookUps: string | null = null
    let isStarting = false
    const { status } = aConsole()
    const { page } = await open(t, '#/rules', {
      status: async () => ({
        ...(await status()),
        ...{ lookUps, isStarting, consuming: isStarting ? 'the service is starting' : null },
      }),
    })
    await dots(page).waitFor()
    t.equal(await dots(page).locator('[data-sign=dot]').count(), 3)
    await page.getByText('1 blocked partition').click()
    await page.getByText('claims/3, since 31 Jan 2026, 13:00: locked.').waitFor()
    lookUps = 'policy administration is down'
    await page.clock.fastForward(5_000)
    await page.getByRole('alert').getByText('Contact look-ups: policy administration is down').waitFor()
    t.same(await dots(page).locator('[data-sign=cross]').allInnerTexts(), ['Contact look-ups'])
    await page.route('**/status', (route) => route.abort())
    await page.clock.fastForward(5_000)
    await page.getByRole('alert').getByText('State unknown: The service did not respond.').waitFor()
    t.equal(await dots(page).locator('[data-sign=question]').count(), 3, 'nothing is known')
    t.equal(await page.getByRole('alert').getByText('policy administration is down').count(), 0)
    await page.unroute('**/status')
    lookUps = null
    isStarting = true
    await page.clock.fastForward(5_000)
    await page.getByRole('alert').getByText('Receiving events: the service is starting').waitFor()
    t.same(await dots(page).locator('[data-sign=question]').allInnerTexts(), ['Receiving events'])
  })

  t.test('the address holds period and grouping of the overview, and Back returns to them', async (t) => {
    const { page } = await open(t, '#/?window=7d&by=status')
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

  t.test('figures lead to the entries that they count', async (t) => {
    const { countEntries } = aConsole()
    const count = { startS: 60, reason: 'no answer', count: 7, givenUp: 5 }
    const { page } = await open(t, '#/?window=7d&by=reason', {
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

  t.test('a rule is shown with its conditions, and leads to the entries that it decided', async (t) => {
    const { page } = await open(t, '#/rules')
    await page.getByText('In force since').waitFor()
    const rule = page.getByRole('row', { name: 'sms' })
    t.match(
      await rule.innerText(),
      /party found[\s\S]*opted out no[\s\S]*by text message[\s\S]*It is wanted\./,
    )
    await Promise.all([
      page.waitForRequest(/log\/list\?rule=sms&limit/),
      rule.getByRole('link', { name: 'sms' }).click(),
    ])
  })

  t.test('a row shows the result, and opens its entry wherever it is clicked', async (t) => {
    const { page } = await open(t, '#/log', withEntry(GIVEN_UP))
    const row = page.getByRole('row', { name: 'claim.rejected' })
    await row.waitFor()
    t.equal(await page.locator('a a, a button').count(), 0)
    t.equal(await row.getByRole('link').count(), 1)
    t.match(await row.innerText(), /Failed[\s\S]*could not be asked about the member\. Given up\./)
    t.match(
      await page.evaluate(SIGN_OF_BADGE),
      /^"" polygon/,
      'a sign that needs no font says the status too',
    )
    const [opened] = await Promise.all([
      page.context().waitForEvent('page'),
      row.getByText('Email').click({ button: 'middle', force: true }),
    ])
    await opened.waitForURL(/#\/log\/NTF-/)
    const { x, y, width, height } = (await row.boundingBox()) ?? { x: 0, y: 0, width: 0, height: 0 }
    await page.mouse.click(x + width * 0.3, y + height - 2)
    await page.waitForURL(/#\/log\/NTF-/)
  })

  t.test('a text message has no subject, neither in the list nor in its file', async (t) => {
    const sms = { ...ENTRY, channel: 'SMS', subject: 'No such', body: 'Your claim is paid.', because: null }
    const { page, url } = await open(t, '#/log', withEntry(sms as unknown as typeof GIVEN_UP))
    t.match(await page.getByRole('row').nth(1).innerText(), /Text message\s+Your claim is paid\.$/)
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('button', { name: 'Download as CSV' }).click(),
    ])
    const csv = await readFile(await download.path(), 'utf8')
    t.match(csv, /,Recorded,.*,Text message,Your claim is paid\.,/)
    t.notMatch(csv, 'No such')
    await page.goto(`${url}/console#/log/${ENTRY.locator}`)
    const message = page.getByRole('region', { name: /^Message/ })
    await message.getByText('Your claim is paid.').waitFor()
    t.equal(await message.getByText('No such').count(), 0)
  })

  const LONG = `PTY-\u05D0${'0123456789'.repeat(25)}`
  t.test('long values are cut after two lines, and whole on hover and on focus', async (t) => {
    const { page } = await open(
      t,
      '#/log',
      withEntry({
        ...{ ...GIVEN_UP, partyLocator: LONG, eventType: LONG },
        because: `${'x'.repeat(24)} CLM-2026-00056`,
      }),
    )
    const row = page.getByRole('row', { name: LONG })
    await row.waitFor()
    const heightPx = async () => (await row.boundingBox())?.height ?? 0
    t.ok((await heightPx()) <= 60, `${await heightPx()} px`)
    t.equal(await row.getByTitle(LONG).count(), 2)
    const reason = row.locator('td').last().locator('.whole')
    const lineCount = (element: unknown) =>
      (element as { getClientRects(): ArrayLike<unknown> }).getClientRects().length
    t.equal(await reason.evaluate(lineCount), 1, 'a reference is on one line')
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

  t.test('the active filters are shown, each can be removed, and the list stays visible', async (t) => {
    const path = '#/log?notTold=true&status=FAILED&eventType=claim.paid'
    const { page } = await open(t, path, withEntry(GIVEN_UP))
    for (const [width, height, beforeY] of [
      [1280, 800, 400],
      [390, 844, 550],
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

  const EMPTY = { list: async () => ({ items: [], next: null }), get: async () => null }
  const ALONE = { ...PREFERENCES, optedOutEvents: [] }

  t.test('the page of a member is one timeline of messages and changes, without addresses', async (t) => {
    const at = (hour: number) => `2026-01-31T${hour}:00:00.000000Z`
    const changes = [
      { changedAt: at(13), changedBy: 'ada', before: ALONE, after: PREFERENCES },
      { changedAt: at(12), changedBy: null, before: { ...ALONE, phone: '1' }, after: ALONE },
      { changedAt: at(10), changedBy: null, before: null, after: { ...ALONE, phone: '1' } },
    ]
    const items = [at(14), at(11)].map((createdAt, i) => ({ ...GIVEN_UP, locator: `NTF-${i}`, createdAt }))
    const { page } = await open(t, '#/parties/PTY-1', {
      preferences: {
        unknownEventTypes: async () => [],
        get: async () => PREFERENCES,
        changes: async () => ({ changes, isMore: false }),
      },
      logEntries: { list: async () => ({ items, next: null }), get: async () => null },
    })
    const rows = page.getByRole('region', { name: 'Timeline' }).locator('tbody tr')
    await rows.nth(4).waitFor()
    const told = (await rows.allInnerTexts()).map((row) => row.replaceAll(/\s+/g, ' '))
    t.match(told, [
      /^31 Jan 2026, 15:00 Failed claim\.rejected CLM-1 Email Policy administration could not be asked about the member\. Given up\./,
      /^31 Jan 2026, 14:00 Preferences – – Text message Opted out of claim\.paid, by ada$/,
      /^31 Jan 2026, 13:00 Preferences – – Text message Addresses changed \(not used for sending\)$/,
      /^31 Jan 2026, 12:00 Failed/,
      /^31 Jan 2026, 11:00 Preferences – – Text message Prefers text message$/,
    ])
    t.notMatch(await page.locator('main').innerText(), PREFERENCES.phone)
    await page.getByText('claim.paid since 31 Jan 2026, 14:00').waitFor()
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('button', { name: 'Download as CSV' }).click(),
    ])
    const [, ...lines] = (await readFile(await download.path(), 'utf8')).split('\r\n')
    t.match(lines, [
      /^,Opted out now,claim\.paid,PTY-1,,,,since 2026-01-31T13:00:00\.000000Z,/,
      /,Failed,/,
      /^2026-01-31T13.*,Preferences,,PTY-1,,Text message,,"Opted out of claim\.paid, by ada",/,
      /^2026-01-31T12.*,Addresses changed/,
      /,Failed,.*,Email,/,
      /^2026-01-31T10.*,Preferences,.*,Prefers text message,/,
      '',
    ])
    await page.getByRole('link', { name: 'Yesterday' }).click()
    await page.waitForURL(/#\/parties\/PTY-1\?from=.*&to=/)
  })

  t.test('an opt-out that no change on record explains says so', async (t) => {
    const { page } = await open(t, '#/parties/PTY-1', {
      preferences: {
        unknownEventTypes: async () => [],
        get: async () => PREFERENCES,
        changes: async () => ({ changes: [], isMore: false }),
      },
    })
    await page.getByText('claim.paid since before changes were recorded').waitFor()
  })

  t.test('an entry is refreshed while it waits for a retry, and not afterwards', async (t) => {
    let entry: typeof ENTRY = {
      ...ENTRY,
      status: 'FAILED',
      story: { ...ENTRY.story, next: 'It will be tried again.' },
    }
    const { page } = await open(t, `#/log/${ENTRY.locator}`, {
      logEntries: { list: async () => ({ items: [], next: null }), get: async () => entry },
    })
    const story = page.getByRole('region', { name: 'What happened' })
    await story.getByText('It will be tried again.').waitFor()
    await page.route('**/log/NTF-*', (route) => route.abort())
    await page.clock.fastForward(30_000)
    await page.getByRole('alert').getByText('Not current since').waitFor()
    t.ok(await story.isVisible(), 'what was known is still shown')
    await page.unroute('**/log/NTF-*')
    entry = ENTRY
    await page.clock.fastForward(10_000)
    await story.getByText(ENTRY.story.next).waitFor()
    const reads: string[] = []
    const note = (request: PageRequest) => void reads.push(request.url())
    page.on('request', note)
    await page.clock.fastForward(90_000)
    await page.evaluate('1')
    page.off('request', note)
    t.notOk(reads.some((url) => url.includes('/log/')))
  })

  t.test('an unknown member is shown as unknown', async (t) => {
    const { page } = await open(t, '#/parties/nobody', { logEntries: EMPTY })
    await page.getByText('This member is unknown here').waitFor()
    t.equal(await page.getByText('No preferences are stored').count(), 0)
  })

  t.test('the address of a member without a locator leads to no page', async (t) => {
    const { page, url } = await open(t, '#/parties/', withEntry(GIVEN_UP))
    for (const path of ['#/parties/', '#/parties/%20']) {
      await page.goto(`${url}/console${path}`)
      await page.getByRole('heading', { level: 1, name: 'Page not found' }).waitFor({ timeout: 5_000 })
    }
  })

  t.test('a search opens the only hit, lists several, and reports none', async (t) => {
    const found = (kind: SearchHit['kind'], value: string, locator: string | null = null) => ({
      kind,
      value,
      locator,
    })
    const FOUND: Readonly<Record<string, readonly SearchHit[]>> = {
      'event-7': [found('event', 'event-7', ENTRY.locator)],
      'event-8': [found('event', 'event-8', ENTRY.locator), found('member', 'event-8')],
      'CLM-1': [found('reference', 'CLM-1', ENTRY.locator)],
      'CLM-2': [found('reference', 'CLM-2')],
      'PTY-1': [found('member', 'PTY-1')],
    }
    const SIMILAR: Readonly<Record<string, readonly SearchHit[]>> = {
      'clm-2': FOUND['CLM-2'] ?? [],
      [ENTRY.locator.toLowerCase()]: [found('entry', ENTRY.locator, ENTRY.locator)],
      'Clm 2': FOUND['CLM-2'] ?? [],
      '00056': [found('reference', 'RE-00056', ENTRY.locator)],
      claim: [found('event type', 'claim.paid'), found('event type', 'claim.rejected')],
    }
    const { page } = await open(t, '#/rules', {
      search: async (text) => ({ hits: [...(FOUND[text] ?? [])], similar: [...(SIMILAR[text] ?? [])] }),
    })
    const search = async (words: string) => {
      await page.locator('body').press('/')
      await page.keyboard.type(words)
      await page.keyboard.press('Enter')
    }
    const box = page.getByRole('combobox', { name: 'Search' })
    t.match(await box.getAttribute('placeholder'), / \/$/, 'it shows its key')
    for (const [words, url] of [
      [ENTRY.locator, /#\/log\/NTF-/],
      ['event-7', /#\/log\/NTF-/],
      ['CLM-1', /#\/log\/NTF-/],
      ['CLM-2', /#\/log\?reference=CLM-2$/],
      ['clm-2', /#\/log\?reference=CLM-2$/],
      [ENTRY.locator.toLowerCase(), /#\/log\/NTF-/],
      ['PTY-1', /#\/parties\/PTY-1$/],
      ['Clm 2', /#\/log\?reference=CLM-2$/],
    ] as const) {
      await search(words)
      await page.waitForURL(url)
      await page
        .locator('h1')
        .filter({ hasNotText: /Rules|Search/ })
        .waitFor()
      await page.goto(page.url().replace(/#.*/, '#/rules'))
      await page.locator('h1:focus', { hasText: 'Rules' }).waitFor()
    }
    await search('event-8')
    await page.getByRole('link', { name: 'The event event-8' }).waitFor()
    await page.getByRole('link', { name: 'The member event-8' }).waitFor()
    await page.getByRole('heading', { level: 1 }).click()
    await search('00056')
    await page.getByRole('link', { name: 'Messages about RE-00056' }).waitFor()
    t.match(page.url(), /#\/search/, 'what has the same last digits may be another claim')
    await page.getByRole('heading', { level: 1 }).click()
    await search('claim')
    await page.getByRole('link', { name: 'All events of the type claim.paid' }).waitFor()
    await page.getByText('Nothing is called exactly so').waitFor()
    const links = page.getByRole('main').getByRole('link')
    t.same(await links.allInnerTexts(), [
      'All events of the type claim.paid',
      'All events of the type claim.rejected',
    ])
    await page.getByRole('heading', { level: 1 }).click()
    await search('nothing')
    await page.getByText(/^Nothing found\. Looked for members, .* more of its digits\./).waitFor()
    await page.getByRole('link', { name: 'Or filter all entries' }).waitFor()
    t.same(await accessibilityFaults(page), [])
  })

  t.test('the address holds the page of a list, and Back returns to it', async (t) => {
    const list: ConsoleData['logEntries']['list'] = async (_, { limit, after }) => {
      const from = after === null ? 0 : Number(after.locator.slice(-12)) + 1
      const items = Array.from({ length: limit }, (_, i) => ({
        ...GIVEN_UP,
        locator: locator(from + i),
        eventType: `type-${from + i}`,
      }))
      return { items, next: from >= 200 ? null : { createdAt: TIME, locator: locator(from + limit - 1) } }
    }
    const { page } = await open(t, '#/log', { logEntries: { list, get: async () => ENTRY } })
    await page.getByText('200 entries on this page').waitFor()
    await page.getByRole('link', { name: 'Next page' }).click()
    const row = page.getByRole('row', { name: 'type-250' })
    await row.click()
    await page.getByRole('region', { name: 'What happened' }).waitFor()
    await page.goBack()
    await row.waitFor()
    t.equal(await page.getByRole('row', { name: 'type-50' }).count(), 0)
    await page.getByRole('link', { name: 'First page' }).click()
    await page.getByRole('row', { name: 'type-50' }).waitFor()
    await page.evaluate('scrollTo(0, 2000)')
    await page
      .locator('td a')
      .nth(60)
      .evaluate((link) => (link as { click?: () => void }).click?.())
    await page.getByRole('region', { name: 'What happened' }).waitFor()
    t.equal(await page.evaluate('scrollY'), 0)
    await page.goBack()
    await until(async () => (await page.evaluate('scrollY')) === 2_000, {
      what: 'the position to be restored',
    })
    await page.getByRole('link', { name: 'Log', exact: true }).click()
    await page.getByRole('link', { name: 'Rules', exact: true }).click()
    await page.getByText('In force since').waitFor()
    await page.getByRole('link', { name: 'Log', exact: true }).click()
    await page.getByText('200 entries on this page').waitFor()
    t.equal(await page.evaluate('scrollY'), 0, 'a link leads to the top')
  })

  t.test("one click limits a list to a period, in the reader's time zone", async (t) => {
    const { page } = await open(t, '#/log?notTold=true', withEntry(GIVEN_UP))
    await page.clock.setFixedTime('2026-02-04T09:00:00+01:00')
    await page.reload()
    for (const [name, from, to] of [
      ['Today', '2026-02-03T23', undefined],
      ['Yesterday', '2026-02-02T23', '2026-02-03T23'],
    ] as const) {
      const until = to === undefined ? '$' : `&to=${to}%3A00%3A00.000Z$`
      await page.getByRole('link', { name, exact: true }).click()
      await page.waitForURL(new RegExp(`notTold=true&from=${from}%3A00%3A00.000Z${until}`))
      await page.locator('[aria-current=page]').getByText(name, { exact: true }).waitFor()
    }
    await page.getByText('Time: Yesterday (3 Feb 2026)').waitFor()
    await page.getByRole('link', { name: 'Last 7 days' }).click()
    await page.getByText(/Time: Last 7 days \(28 Jan 2026, 09:00 – 4 Feb 2026, 09:00\)/).waitFor()
    const names = await page.getByRole('navigation', { name: 'Time' }).innerText()
    t.same(names.split(/\s*\n\s*/), ['Today', 'Yesterday', 'Last 7 days', 'Last 30 days'])
    await page.getByText('Between…').click()
    t.equal(await page.getByLabel('From').inputValue(), '2026-01-28T09:00')
    t.notOk(await page.getByLabel('Event type', { exact: true }).isVisible(), 'the two dates alone')
    await page.getByLabel('Before').fill('2026-02-01T09:00')
    await page.getByRole('button', { name: 'Search' }).filter({ visible: true }).click()
    await page.waitForURL(/notTold=true&from=2026-01-28T08%3A00%3A00\.000Z&to=2026-02-01T08%3A00%3A00\.000Z$/)
  })

  t.test('a response that the network cuts off counts as a lost connection, and is read again', async (t) => {
    const { page } = await open(t, '#/rules')
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

  t.test('an empty list says whether there is nothing or nothing that matches', async (t) => {
    const { page, url } = await open(t, '#/log', { logEntries: EMPTY })
    await page.getByText('There are no entries yet.').waitFor()
    await page.goto(`${url}/console#/log?status=SENT&from=2099-01-01T00:00:00Z`)
    await page.getByText('No entries match Status: Sent or recorded; Time: from 1 Jan 2099, 01:00.').waitFor()
    await page.getByRole('link', { name: 'All times' }).click()
    await page.getByText('No entries match Status: Sent or recorded.').waitFor()
    await page.getByRole('link', { name: 'Clear all' }).click()
    await page.getByText('There are no entries yet.').waitFor()
  })

  t.test('an empty list offers the nearest names, and names filters that do not exist', async (t) => {
    const { page, url } = await open(t, '#/log?eventType=claim&kind=x&partyLocator=PARTY-0036', {
      logEntries: EMPTY,
    })
    await page.getByText('The address has filters that do not exist here: kind.').waitFor()
    await page.getByText('No member is called PARTY-0036.').waitFor()
    t.same(await accessibilityFaults(page), [])
    await page.getByRole('link', { name: 'claim.void' }).click()
    await page.waitForURL(/#\/log\?eventType=claim\.void&partyLocator=PARTY-0036$/)
    await page.getByRole('link', { name: 'party-0036', exact: true }).click()
    await page.waitForURL(/#\/log\?eventType=claim\.void&partyLocator=party-0036$/)
    await page.getByText(/No entries match .*Member: party-0036\./).waitFor()
    t.equal(await page.getByText(/is called/).count(), 0, 'both names are known')
    await page.goto(`${url}/console#/log?eventType=Claim%20Void`)
    await page.getByRole('link', { name: 'claim.void' }).click()
    await page.waitForURL(/#\/log\?eventType=claim\.void$/)
    await page.goto(`${url}/console#/parties/PARTY-0036`)
    await page.getByRole('link', { name: 'party-0036', exact: true }).click()
    await page.waitForURL(/#\/parties\/party-0036$/)
  })

  t.test('on a phone an entry takes two lines, and the header 100 px', async (t) => {
    const items = Array.from({ length: 200 }, (_, i) => ({
      ...GIVEN_UP,
      ...{ locator: locator(i), eventType: 'policy.renewal-notice', reference: `CLA-2026-${i}` },
    }))
    const { page } = await open(t, '#/log', {
      logEntries: { list: async () => ({ items, next: null }), get: async () => GIVEN_UP },
    })
    await page.setViewportSize({ width: 390, height: 844 })
    await page.getByText('200 entries').waitFor()
    const heightPx = async (place: ReturnType<Page['locator']>) => (await place.boundingBox())?.height ?? 0
    t.ok((await heightPx(page.locator('tbody tr').nth(1))) <= 64)
    t.ok((await heightPx(page.locator('header'))) <= 100)
    t.ok(Number(await page.evaluate('document.documentElement.scrollHeight')) < 15_000)
    t.match(await page.locator('tbody tr').first().innerText(), /policy\.renewal-notice[\s\S]*CLA-2026-0/)
    await waitUntilItFits(page)
    t.same(await accessibilityFaults(page), [])
    await page
      .locator('tbody tr')
      .nth(3)
      .click({ position: { x: 200, y: 45 } })
    await page.waitForURL(/#\/log\/NTF-/)
    await page.locator('h1:focus').waitFor()
    t.equal(await page.evaluate('getComputedStyle(document.activeElement).outlineStyle'), 'none')
  })

  t.test('names are offered while one types', async (t) => {
    const { page } = await open(t, '#/log', withEntry(GIVEN_UP))
    const offered = async (field: ReturnType<Page['getByLabel']>, typed: string, name: string) => {
      await field.focus()
      await page.keyboard.type(typed)
      await page.clock.runFor(200)
      const list = page.locator(`datalist[id="${await field.getAttribute('list')}"]`)
      await list.locator(`option[value="${name}"]`).waitFor({ state: 'attached' })
    }
    await page.getByText('Filters').click()
    await offered(page.getByLabel('Event type', { exact: true }), '', 'claim.void')
    await offered(page.getByLabel('Rule', { exact: true }), '', 'muted')
    await offered(page.getByLabel('Reason', { exact: true }), '', 'muted')
    await offered(page.getByLabel('Member', { exact: true }), 'PTY', 'pty')
    await offered(page.getByRole('combobox', { name: 'Search' }), 'PTY', 'pty')
    t.same(await accessibilityFaults(page), [])
  })

  t.test('the head of a long list stays visible', async (t) => {
    const items = Array.from({ length: 40 }, (_, i) => ({ ...GIVEN_UP, locator: `NTF-${i}` }))
    const list = async () => ({ items, next: null })
    const { page } = await open(t, '#/log', { logEntries: { list, get: async () => null } })
    await page.getByRole('row').nth(40).scrollIntoViewIfNeeded()
    const head = await page.getByRole('columnheader', { name: 'Status' }).boundingBox()
    t.equal(head?.y, 0)
  })

  t.test('the log is searched by its filters, again if asked to, and saved as a file', async (t) => {
    const { page } = await open(t, '#/log', withEntry(GIVEN_UP))
    await page.getByText('Filters').click()
    await page.getByLabel('Status').selectOption('FAILED')
    await page.getByLabel('Rule').fill('unresolved')
    for (const again of [false, true]) {
      if (again) await page.getByText('Filters').click()
      await Promise.all([
        page.waitForRequest(/log\/list\?status=FAILED&rule=unresolved&limit/),
        page.getByRole('button', { name: 'Search' }).click(),
      ])
    }
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('button', { name: 'Download as CSV' }).click(),
    ])
    t.equal(download.suggestedFilename(), 'log.csv')
    const [head, line] = (await readFile(await download.path(), 'utf8')).split('\r\n')
    t.match(head, /^createdAt,status,.*,reference,channel,subject,because,.*,locator,eventId$/)
    t.match(
      line,
      /,Failed,claim\.rejected,PTY-1,CLM-1,Email,.*,contact could not be resolved: HTTP 500,true,3,/,
    )
    t.notMatch(line, 'was rejected', 'no text of a message')
  })

  t.test(
    'a rejected message says what to do next, with a command for a reader who may not ask',
    async (t) => {
      const { listRejected } = aConsole()
      const redriven = { at: TIME, by: 'ada', result: { result: 'logged', locator: ENTRY.locator } } as const
      const rejected: ConsoleData['listRejected'] = async (...asked) => {
        const { items } = await listRejected(...asked)
        const [first] = items as [(typeof items)[number]]
        const others = [
          { id: 8n, code: 'refused-by-database' },
          { id: 9n, code: 'unreadable' },
          { id: 11n, code: 'too-large' },
          { id: 10n, redriven },
        ]
        return { items: [first, ...others.map((other) => ({ ...first, ...other }))], next: null }
      }
      const { page } = await open(t, '#/rejected', { listRejected: rejected }, false)
      const rows = page.getByRole('region', { name: 'Rejected messages' }).locator('tbody tr')
      await rows.nth(4).waitFor()
      const buttons = (index: number) => rows.nth(index).getByRole('button').allInnerTexts()
      t.same(await buttons(0), ['rejected show 7', 'rejected redrive 7', 'rejected dismiss 7'])
      t.same(await buttons(2), ['rejected show 9', 'rejected dismiss 9'])
      t.same(await buttons(3), ['rejected show 11', 'rejected dismiss 11'])
      t.same(await buttons(4), [])
      t.match((await page.locator('dl').innerText()).split(/\n+/), [
        'not-json (1)',
        /^Processing them again helps only once rules\/envelope\.json reads them/,
        'refused-by-database (1)',
        'Process them again once the database takes their rows.',
        'unreadable, too-large (2)',
        /their producer must publish them again\.$/,
      ])
      await page.context().grantPermissions(['clipboard-read', 'clipboard-write'])
      await rows.nth(1).getByRole('button', { name: 'rejected redrive 8' }).click()
      await page.getByText('copied', { exact: true }).waitFor()
      t.equal(await page.evaluate('navigator.clipboard.readText()'), 'src/main.ts rejected redrive 8')
      t.same(await accessibilityFaults(page), [])
      await rows.nth(4).getByRole('link', { name: 'Redriven: logged' }).click()
      await page.waitForURL(/#\/log\/NTF-/)
    },
  )

  t.test('on a phone a rejected message takes three lines, and what helps is said once', async (t) => {
    const { listRejected } = aConsole()
    const rejected: ConsoleData['listRejected'] = async (...asked) => {
      const { items } = await listRejected(...asked)
      const [first] = items as [(typeof items)[number]]
      const begin = Buffer.from('{"eventType": "claim.paid", "partyLocator": "party-7", "payload": {}}')
      const many = Array.from({ length: 7 }, (_, i) => ({
        ...first,
        id: BigInt(i + 1),
        begin,
        byteCount: 900,
      }))
      return { items: many, next: null }
    }
    const { page } = await open(t, '#/rejected', { listRejected: rejected })
    await page.setViewportSize({ width: 390, height: 844 })
    const rows = page.getByRole('region', { name: 'Rejected messages' }).locator('tbody tr')
    await rows.nth(6).getByRole('button', { name: 'Dismiss' }).waitFor()
    for (const row of await rows.all()) {
      const { height } = (await row.boundingBox()) ?? { height: 999 }
      t.ok(height <= 110, `${height} px`)
    }
    t.match(
      await rows.first().innerText(),
      /offset 9007199254740993[\s\S]*is not valid JSON[\s\S]*"eventType"/,
    )
    t.equal(await page.getByText('helps only once rules/envelope.json reads').count(), 1)
    await waitUntilItFits(page)
    t.same(await accessibilityFaults(page), [])
  })

  t.test('an entry leads to its trace, and to all that its rule decided alike', async (t) => {
    const { page } = await open(t, `#/log/${ENTRY.locator}`, withEntry(GIVEN_UP))
    await page.getByText('Technical').click()
    const trace = page.getByRole('link', { name: '4bf92f3577b34da6a3ce929d0e0e4736' })
    t.equal(await trace.getAttribute('href'), 'https://traces.example/4bf92f3577b34da6a3ce929d0e0e4736')
    t.equal(await trace.getAttribute('rel'), 'noopener noreferrer')
    await page.getByRole('link', { name: 'All failed by this rule' }).click()
    await page.waitForURL(/#\/log\?rule=email&status=FAILED$/)
  })

  t.test('an entry is a story in local times, with all ids folded', async (t) => {
    const { page } = await open(
      t,
      `#/log/${ENTRY.locator}`,
      withEntry({ ...GIVEN_UP, ...ENTRY } as typeof GIVEN_UP),
    )
    const story = page.getByRole('region', { name: 'What happened' })
    await story
      .getByText('On 31 Jan 2026, 13:00, the email “Your claim” about CLM-1 for member PTY-1 was recorded')
      .waitFor()
    t.equal(await story.locator('time').getAttribute('title'), `2026-01-31 13:00:00 (${ENTRY.sentAt})`)
    await page
      .getByRole('region', { name: /^Message/ })
      .getByText('Recorded, not delivered')
      .waitFor()
    t.match(
      await page.getByRole('region', { name: 'Timeline' }).innerText(),
      /13:00 The event claim\.rejected arrived\./,
    )
    await story.getByText('The member prefers email, and we have an email address.').waitFor()
    await page.getByText('The address is not stored here.').waitFor()
    const related = story.getByRole('link', { name: 'All messages about CLM-1' })
    t.equal(await related.getAttribute('href'), '#/log?reference=CLM-1')
    for (const id of [ENTRY.locator, 'event-1', '3f0d8a52c1b7'])
      t.notOk(await page.getByText(id).first().isVisible(), `${id} is folded`)
  })
}

const SIGN_OF_BADGE = `(() => {
  const { content, clipPath } = getComputedStyle(document.querySelector('main .badge'), '::before')
  return content + ' ' + clipPath
})()`
