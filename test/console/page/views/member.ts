import type { ConsoleData } from '../../../../src/console/routes/data-routes.ts'
import { locator } from '../../../service/http/fixture.ts'
import { aConsole, PREFERENCES, TIME } from '../../routes/fixture.ts'
import { download, test } from '../browser.ts'
import { EMPTY, GIVEN_UP, openView, withEntry } from '../open-view.ts'

const ALONE = { ...PREFERENCES, optedOutEvents: [] }

test('the page of a member is one timeline of messages and changes, without addresses', async (t) => {
  const at = (hour: number) => `2026-01-31T${hour}:00:00.000000Z`
  const changes = [
    { changedAt: at(13), changedBy: 'ada', before: ALONE, after: PREFERENCES },
    { changedAt: at(12), changedBy: null, before: { ...ALONE, phone: '1' }, after: ALONE },
    { changedAt: at(10), changedBy: null, before: null, after: { ...ALONE, phone: '1' } },
  ]
  const items = [at(14), at(11)].map((createdAt, i) => ({ ...GIVEN_UP, locator: `NTF-${i}`, createdAt }))
  const { page } = await openView(t, '#/parties/PTY-1', {
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
  await page.getByText('2 entries, and 3 lines about preferences').waitFor()
  t.notMatch(await page.locator('main').innerText(), PREFERENCES.phone)
  await page.getByText('claim.paid since 31 Jan 2026, 14:00').waitFor()
  const { content } = await download(page, 'Download as CSV')
  const [, ...lines] = String(content).split('\r\n')
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

test('each page of the timeline has the changes of its own time, and the filters', async (t) => {
  const at = (hour: number) => `2026-01-31T${hour}:00:00.000000Z`
  const changes = [16, 12].map((hour) => ({
    ...{ changedAt: at(hour), changedBy: null },
    ...{ before: ALONE, after: PREFERENCES },
  }))
  const newer = Array.from({ length: 100 }, (_, i) => ({
    ...{ ...GIVEN_UP, createdAt: at(14) },
    locator: locator(i),
  }))
  const list: ConsoleData['logEntries']['list'] = async (_, { after }) =>
    after === null
      ? { items: newer, next: { createdAt: at(14), locator: locator(99) } }
      : { items: [{ ...GIVEN_UP, createdAt: at(10) }], next: null }
  const { page } = await openView(t, '#/parties/PTY-1?from=2026-01-01T00:00:00.000Z', {
    preferences: {
      unknownEventTypes: async () => [],
      get: async () => PREFERENCES,
      changes: async () => ({ changes, isMore: false }),
    },
    logEntries: { list, get: async () => null },
  })
  await page.getByText('100 entries, and 1 line about preferences').waitFor({ timeout: 5_000 })
  await page.getByRole('link', { name: 'Next page' }).click()
  await page.waitForURL(/\?from=2026-01-01.*&before=2026-01-31.*&cursor=/)
  await page.getByText('1 entry, and 1 line about preferences').waitFor({ timeout: 5_000 })
})

test('entries of one transaction stand as in every list, the newest first', async (t) => {
  const items = ['3', '2', '1'].map((n) => ({ ...GIVEN_UP, locator: `NTF-${n}`, reference: `CLM-${n}` }))
  const { page } = await openView(t, '#/parties/PTY-1', {
    logEntries: { list: async () => ({ items, next: null }), get: async () => null },
  })
  const rows = page.getByRole('region', { name: 'Timeline' }).locator('tbody tr')
  await rows.nth(2).waitFor()
  t.match(await rows.allInnerTexts(), [/CLM-3/, /CLM-2/, /CLM-1/])
})

test('a list about one member or claim says that events wait while messages are held', async (t) => {
  const hold = { id: '7', topics: null, by: 'ada', because: 'a wrong text', since: TIME, waiting: 1_300 }
  let holds = [hold]
  const { status } = aConsole()
  const { page, url } = await openView(t, '#/parties/nobody', {
    logEntries: EMPTY,
    status: async () => ({ ...(await status()), holds }),
  })
  const wait = '1,300 events wait, since messages are held: some may be about this'
  for (const [hash, what] of [
    ['#/parties/nobody', 'member'],
    ['#/parties/PTY-1', 'member'],
    ['#/log?partyLocator=PTY-1', 'member'],
    ['#/log?reference=CLM-1', 'claim, policy or invoice'],
  ]) {
    await page.goto(`${url}/console${hash}`)
    await page.getByText(`${wait} ${what}.`).waitFor()
  }
  holds = []
  await page.goto(`${url}/console#/parties/PTY-2`)
  await page.getByText('Member PTY-2').waitFor()
  await page.getByText(wait).waitFor({ state: 'detached' })
})

test('a list about one member or claim says that events wait in a blocked partition', async (t) => {
  const { page, url } = await openView(t, '#/parties/nobody', { logEntries: EMPTY })
  for (const [hash, what] of [
    ['#/parties/nobody', 'member'],
    ['#/log?reference=CLM-1', 'claim, policy or invoice'],
  ]) {
    await page.goto(`${url}/console${hash}`)
    const wait = `1,204 events wait, since a partition is blocked: some may be about this ${what}.`
    await page.getByText(wait).waitFor()
  }
})

test('an opt-out that no change on record explains says so', async (t) => {
  const { page } = await openView(t, '#/parties/PTY-1', {
    preferences: {
      unknownEventTypes: async () => [],
      get: async () => PREFERENCES,
      changes: async () => ({ changes: [], isMore: false }),
    },
  })
  await page.getByText('claim.paid since before changes were recorded').waitFor()
})

test('an unknown member is shown as unknown', async (t) => {
  const { page } = await openView(t, '#/parties/nobody', { logEntries: EMPTY })
  await page.getByText('This member is unknown here').waitFor()
  t.equal(await page.getByText('No preferences are stored').count(), 0)
})

test('the address of a member without a locator leads to no page', async (t) => {
  const { page, url } = await openView(t, '#/parties/', withEntry(GIVEN_UP))
  for (const path of ['#/parties/', '#/parties/%20']) {
    await page.goto(`${url}/console${path}`)
    await page.getByRole('heading', { level: 1, name: 'Page not found' }).waitFor()
  }
})
