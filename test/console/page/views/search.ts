import type { SearchHit } from '../../../../src/operations/log/search.ts'
import { ENTRY } from '../../../service/http/fixture.ts'
import { accessibilityFaults, test } from '../browser.ts'
import { openView } from '../open-view.ts'

test('a search opens the only hit, lists several, and reports none', async (t) => {
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
  const { page } = await openView(t, '#/rules', {
    search: async (text) => ({
      hits: [...(FOUND[text] ?? [])],
      similar: [...(SIMILAR[text] ?? [])],
      beginnings: text === '00056' ? ['member'] : [],
      endings: text === '00056' ? [{ kind: 'reference', count: 25, isMore: false }] : [],
    }),
  })
  const search = async (words: string) => {
    await page.locator('body').press('/')
    await page.keyboard.type(words)
    await page.keyboard.press('Enter')
  }
  const box = page.getByRole('combobox', { name: 'Search' })
  t.match(await box.getAttribute('placeholder'), / \/$/, 'it shows its key')
  // The page listens for the key once it is drawn, when it also begins to load.
  await page.getByText('In force since').waitFor()
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
  await page.getByText(/^More members match: /).waitFor()
  await page.getByText(/^25 claims, policies or invoices match: .* 20/).waitFor()
  t.match(page.url(), /#\/search/, 'what has the same last digits may be another claim')
  await page.getByRole('heading', { level: 1 }).click()
  await search('claim')
  await page.getByRole('link', { name: 'All events of the type claim.paid' }).waitFor()
  await page.getByText('No exact match').waitFor()
  // The state of the service may be known only later.
  await page.getByRole('main').getByText('507 messages could not be read').waitFor()
  const links = page.getByRole('main').getByRole('link')
  t.strictSame(await links.allInnerTexts(), [
    '507 messages could not be read',
    'All events of the type claim.paid',
    'All events of the type claim.rejected',
  ])
  await page.getByRole('heading', { level: 1 }).click()
  await search('nothing')
  await page
    .getByText(/^Nothing found\. Searched members, .* a member without preferences is found by the beginning/)
    .waitFor()
  await page.getByText('1,300 events wait and cannot be found yet.').waitFor()
  await page.getByText('507 messages could not be read: what they are about').waitFor()
  await page.getByRole('link', { name: 'Or filter all entries' }).waitFor()
  t.strictSame(await accessibilityFaults(page), [])
})

test('what arrives while a name is typed does not take the focus', async (t) => {
  const { page } = await openView(t, '#/requests')
  await page.getByRole('heading', { name: 'Requests' }).waitFor()
  const box = page.getByRole('combobox', { name: 'Search' })
  for (const [hash, late, arrived] of [
    ['#/rules', '**/rules-*.js', 'In force since'],
    [`#/log/${ENTRY.locator}`, '**/log/NTF-*', 'Message'],
  ] as const) {
    const arriving = Promise.withResolvers<void>()
    await page.route(late, (route) => arriving.promise.then(() => route.continue()))
    await page.goto(page.url().replace(/#.*/, hash))
    await page.locator('h1:focus').waitFor()
    await page.keyboard.press('/')
    await page.keyboard.type('CLM')
    arriving.resolve()
    await page.getByText(arrived).first().waitFor()
    await page.keyboard.type('-2')
    t.equal(await box.inputValue(), 'CLM-2')
    await box.fill('')
  }
})
