import type { Request as PageRequest } from 'playwright-core'
import { ENTRY } from '../../../service/http/fixture.ts'
import { test } from '../browser.ts'
import { GIVEN_UP, openView, withEntry } from '../open-view.ts'

test('an entry is refreshed while it waits for a retry, and not afterwards', async (t) => {
  let entry: typeof ENTRY = {
    ...ENTRY,
    status: 'FAILED',
    story: { ...ENTRY.story, next: 'It will be tried again.' },
  }
  const { page } = await openView(t, `#/log/${ENTRY.locator}`, {
    logEntries: { list: async () => ({ items: [], next: null }), get: async () => entry },
  })
  const story = page.getByRole('region', { name: 'What happened' })
  await story.getByText('It will be tried again.').waitFor()
  await page.route('**/log/NTF-*', (route) => route.abort())
  await page.clock.fastForward(30_000)
  await page.getByRole('alert').getByText('Last updated').waitFor()
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

test('an entry leads to its trace, and to all that its rule decided alike', async (t) => {
  const { page } = await openView(t, `#/log/${ENTRY.locator}`, withEntry(GIVEN_UP))
  await page.getByText('Technical').click()
  const trace = page.getByRole('link', { name: '4bf92f3577b34da6a3ce929d0e0e4736' })
  t.equal(await trace.getAttribute('href'), 'https://traces.example/4bf92f3577b34da6a3ce929d0e0e4736')
  t.equal(await trace.getAttribute('rel'), 'noopener noreferrer')
  await page.getByRole('link', { name: 'All failed by this rule' }).click()
  await page.waitForURL(/#\/log\?rule=email&status=FAILED$/)
})

test('an entry is a story in local times, with all ids folded', async (t) => {
  const { page } = await openView(t, `#/log/${ENTRY.locator}`, withEntry({ ...GIVEN_UP, ...ENTRY }))
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
    /13:00 The event claim\.rejected was processed\./,
  )
  await story.getByText('The member prefers email, and we have an email address.').waitFor()
  await page
    .getByText('The address is not stored here: policy administration had it, and can correct it.')
    .waitFor()
  const related = story.getByRole('link', { name: 'All messages about CLM-1' })
  t.equal(await related.getAttribute('href'), '#/log?reference=CLM-1')
  for (const id of [ENTRY.locator, 'event-1', '3f0d8a52c1b7'])
    t.notOk(await page.getByText(id).first().isVisible(), `${id} is folded`)
})

test('an entry says who had the address only if a send was tried', async (t) => {
  const address = 'The address is not stored here'
  const [first] = GIVEN_UP.decisions
  if (first === undefined) throw new Error('no decision')
  const facts = { ...first.facts, party: 'unresolved' as const }
  for (const [decision, count] of [
    [{ ...first, outcome: 'SEND' as const }, 1],
    [{ ...first, outcome: 'FAIL' as const, facts }, 0],
  ] as const) {
    const { page } = await openView(
      t,
      `#/log/${ENTRY.locator}`,
      withEntry({ ...GIVEN_UP, decisions: [decision] }),
    )
    await page.getByRole('region', { name: /^Message/ }).waitFor()
    t.equal(await page.getByText(address).count(), count, decision.outcome)
  }
})

test('the entry of an earlier message says that the member is opted out since', async (t) => {
  const sent = { ...ENTRY, because: null, partyLocator: 'PTY-1', eventType: 'claim.paid' }
  const { page } = await openView(t, `#/log/${ENTRY.locator}`, withEntry(sent))
  const optedOut = page.getByText('The member is opted out of such messages since 31 Jan 2026, 13:00.')
  await optedOut.waitFor()
  const other = await openView(t, `#/log/${ENTRY.locator}`, withEntry({ ...sent, eventType: 'claim.void' }))
  await other.page.getByRole('region', { name: 'What happened' }).waitFor()
  await other.page.waitForLoadState('networkidle')
  t.equal(await optedOut.count(), 0)
})
