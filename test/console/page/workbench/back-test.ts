import { above, rule } from '../../../authoring/build.ts'
import { until } from '../../../stack/until.ts'
import { download, test } from '../browser.ts'
import { openWorkbench, pasteRules, waitForVerdict } from '../open-workbench.ts'
import { HOSTILE } from '../seed.ts'

test('a back-test lists on demand the members who are decided differently, and saves them', async (t) => {
  const { page } = await openWorkbench()
  await pasteRules(
    page,
    above('opted-out', [
      rule({
        rule: 'muted',
        eventType: 'invoice.paid',
        party: 'found',
        reason: 'muted',
        because: 'They say so.',
      }),
    ]),
  )
  await waitForVerdict(page, '1 rule added')
  await page.getByRole('button', { name: 'Back-test' }).click()
  await page.getByText('Of 3 events').filter({ hasText: '2 would have been decided differently' }).waitFor()
  const kind = page.getByRole('listitem').filter({ hasText: '2 no longer sent: invoice.paid 2' })
  const listed = page.getByRole('region', { name: 'Events decided differently' })
  t.equal(await listed.count(), 0, 'members are listed on demand')
  await kind.getByRole('button', { name: 'List the members: no longer sent' }).click()
  await listed.getByRole('row').nth(2).waitFor()
  const event = listed.getByRole('row').filter({ hasText: 'SKIP (muted), by rule "muted"' }).first()
  t.match(await event.innerText(), /party-1.*invoice\.paid.*SEND by email, by rule "email"/s)
  t.match(await event.getByRole('link').first().getAttribute('href'), /^#\/log\/NTF-/)
  t.match(
    String((await download(page, 'Download as CSV')).content),
    /^change,createdAt,partyLocator,.*\r\nno longer sent,20.*,party-1,invoice\.paid,SEND by email,SKIP \(muted\),email,muted,NTF-/,
  )
})

test('a back-test shows why it stopped, ends with its view, and keeps its results', async (t) => {
  const { page } = await openWorkbench()
  const run = page.getByRole('button', { name: 'Back-test' })
  const detail = 'The database cannot be used now. Try again later.'
  await page.route('**/workbench/decisions?*', (route) =>
    route.fulfill({ status: 503, contentType: 'application/problem+json', json: { title: 'x', detail } }),
  )
  await run.click()
  await page.getByText(detail).waitFor()
  await page.unroute('**/workbench/decisions?*')
  await run.click()
  await page.getByText('Of 3 events').waitFor()
  t.equal(await page.getByText(detail).count(), 0)
  await page.getByRole('button', { name: 'Texts', exact: true }).click()
  await page.getByLabel('Event type without a text').fill('claim.reopened')
  await page.getByRole('button', { name: 'Add a text' }).click()
  await page.getByText('This result is for an earlier draft. Run it again.').waitFor()
  await page.getByRole('link', { name: 'Rules', exact: true }).click()
  await page.getByRole('link', { name: 'Try a change in the workbench' }).click()
  await page.getByText('Of 3 events').waitFor()
})

test('pages are asked for until there is none, or until someone stops it or leaves', async (t) => {
  const { page } = await openWorkbench()
  const run = page.getByRole('button', { name: 'Back-test' })
  const asked: (string | null)[] = []
  let askedCountMax = 3
  await page.route('**/workbench/decisions?*', async (route) => {
    asked.push(new URL(route.request().url()).searchParams.get('cursor'))
    // The page after that stays unanswered, as from a database that is busy.
    if (asked.length > askedCountMax) return
    const nextCursor = asked.length === 4 ? null : String(asked.length)
    await route.fulfill({ json: { events: 5_000, groups: [], nextCursor } })
  })
  const isAsked = (count: number) => until(() => asked.length === count, { what: `page ${count}` })
  const status = page.getByText('15,000 events decided again…')
  await run.click()
  await isAsked(4)
  await status.waitFor()
  t.strictSame(asked, [null, '1', '2', '3'])
  await page.getByRole('button', { name: 'Stop' }).click()
  await status.waitFor({ state: 'detached' })
  t.equal(await page.locator('.notice-bad').count(), 0, 'it was stopped on purpose')

  asked.length = 0
  await run.click()
  await isAsked(4)
  const left = page.waitForEvent('requestfailed', (request) => request.url().includes('/decisions?'))
  await page.getByRole('link', { name: 'Rules', exact: true }).click()
  await left
  t.equal(asked.length, 4)

  asked.length = 0
  askedCountMax = 4
  await page.getByRole('link', { name: 'Try a change in the workbench' }).click()
  await waitForVerdict(page, 'No faults')
  await run.click()
  await page.getByText('Of 0 events').waitFor()
})

test('members come from the page on which their group was counted', async (t) => {
  const { page } = await openWorkbench()
  await page.getByLabel('event type, opted-out').fill('not claim.paid')
  await waitForVerdict(page, '1 rule narrowed')
  const facts = { eventType: 'claim.paid', party: 'found', optedOut: true, preferredChannel: 'EMAIL' }
  const skipped = {
    facts: { ...facts, emailOnFile: true, phoneOnFile: true },
    ...{ earlier: [], onRequest: false, ruleId: 'opted-out', outcome: 'SKIP', channel: 'EMAIL' },
    ...{ ruleTableRevision: 'unknown', isPartyInvalid: false, locators: [] },
  }
  await page.route('**/workbench/decisions?*', (route) => {
    const isFirst = !route.request().url().includes('cursor=')
    const groups = [{ ...skipped, id: isFirst ? 'g1' : 'g2', count: 700 }]
    return route.fulfill({ json: { events: 700, groups, nextCursor: isFirst ? 'second' : null } })
  })
  await page.route('**/workbench/members?*', (route) => {
    const { searchParams } = new URL(route.request().url())
    const items = Array.from({ length: 700 }, (_, i) => ({
      locator: `NTF-${searchParams.get('group')}-${i}`,
      partyLocator: `${HOSTILE.partyLocator} ${searchParams.get('cursor')} ${i}`,
      createdAt: null,
    }))
    return route.fulfill({ json: { items } })
  })
  await page.getByRole('button', { name: 'Back-test' }).click()
  await page.getByText('Of 1,400 events').filter({ hasText: '1,400 would have been decided' }).waitFor()
  await page.getByRole('button', { name: 'List the members: newly sent' }).click()
  await page.getByText('The list and the CSV contain 1,000 of 1,400: ask for fewer days.').waitFor()
  await page.getByText('And 980 more in the CSV.').waitFor()
  const { content } = await download(page, 'Download as CSV')
  const lines = String(content).trim().split('\r\n')
  t.equal(lines.length, 1_001)
  t.match(lines[700], / null 699"?,claim\.paid,SKIP,SEND by email,opted-out,email,NTF-g1-699$/)
  t.match(lines[701], / second 0"?,claim\.paid,.*,NTF-g2-0$/)
  t.equal(await page.evaluate('typeof attacked'), 'undefined')
})
