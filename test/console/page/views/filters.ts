import type { Page } from 'playwright-core'
import { accessibilityFaults, download, test } from '../browser.ts'
import { EMPTY, GIVEN_UP, openView, withEntry } from '../open-view.ts'

test('the active filters are shown, each can be removed, and the list stays visible', async (t) => {
  const path = '#/log?notTold=true&status=FAILED&eventType=claim.paid'
  const { page } = await openView(t, path, withEntry(GIVEN_UP))
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

test("one click limits a list to a period, in the reader's time zone", async (t) => {
  const { page } = await openView(t, '#/log?notTold=true', withEntry(GIVEN_UP))
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
  t.strictSame(names.split(/\s*\n\s*/), ['Today', 'Yesterday', 'Last 7 days', 'Last 30 days'])
  await page.getByText('Between…').click()
  t.equal(await page.getByLabel('From').inputValue(), '2026-01-28T09:00')
  t.notOk(await page.getByLabel('Event type', { exact: true }).isVisible(), 'the two dates alone')
  await page.getByLabel('Before').fill('2026-02-01T09:00')
  await page.getByRole('button', { name: 'Search' }).filter({ visible: true }).click()
  await page.waitForURL(/notTold=true&from=2026-01-28T08%3A00%3A00\.000Z&to=2026-02-01T08%3A00%3A00\.000Z$/)
})

test('an empty list says whether there is nothing or nothing that matches', async (t) => {
  const { page, url } = await openView(t, '#/log', { logEntries: EMPTY })
  await page.getByText('There are no entries yet.').waitFor()
  await page.goto(`${url}/console#/log?status=SENT&from=2099-01-01T00:00:00Z`)
  await page.getByText('No entries match Status: Sent or recorded; Time: from 1 Jan 2099, 01:00.').waitFor()
  await page.getByRole('link', { name: 'All times' }).click()
  await page.getByText('No entries match Status: Sent or recorded.').waitFor()
  await page.getByRole('link', { name: 'Clear all' }).click()
  await page.getByText('There are no entries yet.').waitFor()
})

test('an empty list leads to the search, and names filters that do not exist', async (t) => {
  const { page, url } = await openView(t, '#/log?eventType=claim&kind=x&partyLocator=PARTY-0036', {
    logEntries: EMPTY,
  })
  await page.getByText('The address has filters that do not exist here: kind.').waitFor()
  t.strictSame(await accessibilityFaults(page), [])
  await page.getByRole('link', { name: 'Search for PARTY-0036' }).click()
  await page.waitForURL(/#\/parties\/party-0036$/)
  await page.goto(`${url}/console#/parties/PARTY-0036`)
  await page.getByRole('link', { name: 'Search for PARTY-0036' }).click()
  await page.waitForURL(/#\/parties\/party-0036$/)
})

test('names are offered while one types', async (t) => {
  const { page } = await openView(t, '#/log', withEntry(GIVEN_UP))
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
  await offered(page.getByLabel('Reason begins with'), '', 'muted')
  await offered(page.getByLabel('Member', { exact: true }), 'PTY', 'pty')
  await offered(page.getByRole('combobox', { name: 'Search' }), 'PTY', 'pty')
  t.strictSame(await accessibilityFaults(page), [])
})

test('the log is searched by its filters, again if asked to, and saved as a file', async (t) => {
  const { page } = await openView(t, '#/log', withEntry(GIVEN_UP))
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
  const { name, content } = await download(page, 'Download as CSV')
  t.equal(name, 'log.csv')
  const [head, line] = String(content).split('\r\n')
  t.match(head, /^createdAt,status,.*,reference,channel,subject,because,.*,locator,eventId$/)
  t.match(
    line,
    /,Failed,claim\.rejected,PTY-1,CLM-1,Email,.*,contact could not be resolved: HTTP 500,true,3,/,
  )
  t.notMatch(line, 'was rejected', 'no text of a message')
})
