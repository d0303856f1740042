import type { Page } from 'playwright-core'
import type { ConsoleData } from '../../../../src/console/routes/data-routes.ts'
import { ENTRY, locator } from '../../../service/http/fixture.ts'
import { until } from '../../../stack/until.ts'
import { TIME } from '../../routes/fixture.ts'
import { accessibilityFaults, download, test, waitUntilItFits } from '../browser.ts'
import { GIVEN_UP, openView, withEntry } from '../open-view.ts'

test('a row shows the result, and opens its entry wherever it is clicked', async (t) => {
  const { page } = await openView(t, '#/log', withEntry(GIVEN_UP))
  const row = page.getByRole('row', { name: 'claim.rejected' })
  await row.waitFor()
  t.equal(await page.locator('a a, a button').count(), 0)
  t.equal(await row.getByRole('link').count(), 1)
  t.match(
    await row.innerText(),
    /Failed[\s\S]*could not be asked about the member\. Given up\. \(contact could not be resolved: HTTP 500\)/,
  )
  t.match(await page.evaluate(SIGN_OF_BADGE), /^"" polygon/, 'a sign that needs no font says the status too')
  const [opened] = await Promise.all([
    page.context().waitForEvent('page'),
    row.locator('[data-column="Channel"] a').click({ button: 'middle' }),
  ])
  await opened.waitForURL(/#\/log\/NTF-/)
  const { width, height } = (await row.boundingBox()) ?? { width: 0, height: 0 }
  await row.click({ position: { x: width * 0.3, y: height - 2 } })
  await page.waitForURL(/#\/log\/NTF-/)
})

test('the form finds reasons by their beginning; the list of a link by the whole reason stays', async (t) => {
  const asked: object[] = []
  const list: ConsoleData['logEntries']['list'] = async (filter) => {
    asked.push(filter)
    return { items: [GIVEN_UP], next: null }
  }
  const { page } = await openView(t, '#/log?reason=no+answer', {
    logEntries: { list, get: async () => null },
  })
  await page.getByRole('link', { name: /^Reason: no answer/ }).click()
  await page.getByText('Filters').click()
  await page.getByLabel('Reason begins with').fill('contact could not')
  await page.getByRole('button', { name: 'Search' }).click()
  await page.waitForURL(/#\/log\?reasonPrefix=contact\+could\+not$/)
  await until(async () => asked.length >= 3, { what: 'the search' })
  t.match(asked, [{ reason: 'no answer' }, {}, { reasonPrefix: 'contact could not' }])
})

test('a skipped entry has no channel, and nothing is tried again on a list of sent ones', async (t) => {
  const skipped = { ...GIVEN_UP, status: 'SKIPPED' as const, givenUp: false, failureReason: 'opted out' }
  const { page, url } = await openView(t, '#/log?status=SKIPPED', withEntry(skipped))
  await page.getByRole('button', { name: /^Try all again/ }).waitFor()
  t.notMatch(await page.getByRole('row').nth(1).innerText(), /Email|opted out$/)
  await page.goto(`${url}/console#/log?status=SENT`)
  await page.getByRole('link', { name: /^Status: Sent/ }).waitFor()
  t.equal(await page.getByRole('button', { name: /^Try all again/ }).count(), 0)
})

test('a text message has no subject, neither in the list nor in its file', async (t) => {
  const sms = { ...ENTRY, channel: 'SMS', subject: 'No such', body: 'Your claim is paid.', because: null }
  const { page, url } = await openView(t, '#/log', withEntry(sms))
  t.match(await page.getByRole('row').nth(1).innerText(), /Text message\s+Your claim is paid\.$/)
  const csv = String((await download(page, 'Download as CSV')).content)
  t.match(csv, /,Recorded,.*,Text message,Your claim is paid\.,/)
  t.notMatch(csv, 'No such')
  await page.goto(`${url}/console#/log/${ENTRY.locator}`)
  const message = page.getByRole('region', { name: /^Message/ })
  await message.getByText('Your claim is paid.').waitFor()
  t.equal(await message.getByText('No such').count(), 0)
})

const LONG = `PTY-\u05D0${'0123456789'.repeat(25)}`

test('long values are cut after two lines, and whole on hover and on focus', async (t) => {
  const { page } = await openView(
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

test('a list says how long ago something was, and exactly when on hover', async (t) => {
  const createdAt = new Date().toISOString().replace('Z', '000Z')
  const { page } = await openView(t, '#/log', withEntry({ ...GIVEN_UP, createdAt }))
  const cell = page.getByRole('cell').first()
  await cell.getByText('just now').waitFor()
  t.match(await cell.getAttribute('title'), /^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d \(\d{4}-.*Z\)$/)
  await page.clock.fastForward(300_000)
  await cell.getByText('5 min ago').waitFor()
})

test('the address holds the page of a list, and Back returns to it', async (t) => {
  const list: ConsoleData['logEntries']['list'] = async (_, { limit, after }) => {
    const from = after === null ? 0 : Number(after.locator.slice(-12)) + 1
    const items = Array.from({ length: limit }, (_, i) => ({
      ...GIVEN_UP,
      locator: locator(from + i),
      eventType: `type-${from + i}`,
    }))
    return { items, next: from >= 200 ? null : { createdAt: TIME, locator: locator(from + limit - 1) } }
  }
  const { page } = await openView(t, '#/log', { logEntries: { list, get: async () => ENTRY } })
  await page.getByText('200 entries on this page').waitFor()
  const { content } = await download(page, 'Download as CSV')
  t.equal(String(content).split('type-').length, 401, 'a file has the entries of all pages')
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

test('on a phone an entry takes two lines, and the header 100 px', async (t) => {
  const items = Array.from({ length: 200 }, (_, i) => ({
    ...GIVEN_UP,
    ...{
      locator: locator(i),
      eventType: i === 0 ? 'claim.supporting-document-requested' : 'policy.renewal-notice',
    },
    reference: `CLA-2026-${i}`,
    partyLocator: '8b6ef05a-31e2-4bd2-9b0e-5f6f6e0c2d11',
  }))
  const { page } = await openView(t, '#/log', {
    logEntries: { list: async () => ({ items, next: null }), get: async () => GIVEN_UP },
  })
  await page.setViewportSize({ width: 390, height: 844 })
  await page.getByText('200 entries').waitFor()
  const heightPx = async (place: ReturnType<Page['locator']>) => (await place.boundingBox())?.height ?? 0
  t.ok((await heightPx(page.locator('tbody tr').nth(1))) <= 64)
  t.ok((await heightPx(page.locator('header'))) <= 100)
  t.equal(await page.evaluate(CUT_TYPES), 0, 'each type is whole')
  t.ok(Number(await page.evaluate('document.documentElement.scrollHeight')) < 15_000)
  t.match(
    await page.locator('tbody tr').first().innerText(),
    /claim\.supporting-document-requested[\s\S]*CLA-2026-0/,
  )
  await waitUntilItFits(page)
  t.strictSame(await accessibilityFaults(page), [])
  await page
    .locator('tbody tr')
    .nth(3)
    .click({ position: { x: 200, y: 45 } })
  await page.waitForURL(/#\/log\/NTF-/)
  await page.locator('h1:focus').waitFor()
  t.equal(await page.evaluate('getComputedStyle(document.activeElement).outlineStyle'), 'none')
})

test('the head of a long list stays visible', async (t) => {
  const items = Array.from({ length: 40 }, (_, i) => ({ ...GIVEN_UP, locator: `NTF-${i}` }))
  const list = async () => ({ items, next: null })
  const { page } = await openView(t, '#/log', { logEntries: { list, get: async () => null } })
  await page.getByRole('row').nth(40).scrollIntoViewIfNeeded()
  const head = await page.getByRole('columnheader', { name: 'Status' }).boundingBox()
  t.equal(head?.y, 0)
})

const CUT_TYPES = `[...document.querySelectorAll('tbody [data-column="Event type"] *')]
  .filter((part) => part.scrollWidth > part.clientWidth || part.scrollHeight > part.clientHeight).length`
const SIGN_OF_BADGE = `(() => {
  const { content, clipPath } = getComputedStyle(document.querySelector('main .badge'), '::before')
  return content + ' ' + clipPath
})()`
