import type { Locator, Route } from 'playwright-core'
import type { Test } from 'tap'
import type { ConsoleData } from '../../../src/console/routes/data-routes.ts'
import type { RequestPreview, StoredRequest } from '../../../src/service/model/request/schemas.ts'
import { ENTRY } from '../../service/http/fixture.ts'
import { aConsole, aRequestDesk, REQUEST, TIME } from '../routes/fixture.ts'
import { accessibilityFaults, test, waitUntilItFits } from './browser.ts'
import { openView, withEntry } from './open-view.ts'

const SKIPPED = {
  ...ENTRY,
  because: 'Nobody knows the member.',
  status: 'SKIPPED' as const,
  subject: null,
  body: null,
  failureReason: 'party not found',
  sentAt: null,
  receipt: null,
  recordedOnly: false,
}
const preview = (...groups: RequestPreview['groups']): RequestPreview => ({
  count: groups.reduce((sum, { count }) => sum + count, 0),
  isMore: false,
  groups,
})
const WILL_BE_SKIPPED = { reason: 'it would be skipped again: event type opted out', isUnchanged: true }

async function open(t: Test, path: string, data: Partial<ConsoleData>, mayAsk = true) {
  const opened = await openView(t, path, data, mayAsk)
  return { ...opened, dialog: opened.page.getByRole('dialog') }
}

test('an agent tries one message again by three clicks and a reason', async (t) => {
  const added: unknown[] = []
  let state: StoredRequest = { ...REQUEST, counts: {}, unchanged: [] }
  const requests = aRequestDesk(added, { get: async () => state })
  const { page, dialog, complaints } = await open(t, '#/log?notTold=true', {
    ...withEntry(SKIPPED),
    requests,
  })
  let clickCount = 0
  const click = (place: Locator) => {
    clickCount++
    return place.click()
  }
  await click(page.getByRole('link', { name: /ago|2026/ }).first())
  await click(page.getByRole('button', { name: 'Try again: this message' }))
  await dialog.getByText('1: party not found').waitFor()
  t.strictSame(await accessibilityFaults(page), [])
  await dialog.getByLabel(/^Reason/).fill('the member called')
  await click(dialog.getByRole('button', { name: 'Try again', exact: true }))
  await dialog.getByText('In progress').waitFor()
  state = { ...state, state: 'done', counts: { SENT: 1 }, endedAt: TIME }
  await dialog.getByText('Retried: 1 sent.').waitFor()
  t.equal(clickCount, 3)
  t.match(added, [{ wanted: { kind: 'retry', locators: [ENTRY.locator] }, because: 'the member called' }])
  await page.setViewportSize({ width: 360, height: 700 })
  await waitUntilItFits(page)
  t.strictSame(complaints, [])
})

for (const [how, lose] of [
  ['no answer', (route: Route) => route.abort()],
  [
    'an answer that breaks off',
    async (route: Route) => {
      await route.fetch()
      await route.fulfill({ status: 201, contentType: 'application/json', body: '{"id":' })
    },
  ],
  [
    'an error of a proxy',
    async (route: Route) => {
      await route.fetch()
      await route.fulfill({ status: 502, body: '' })
    },
  ],
] as const)
  test(`after ${how} the dialog says what may have happened, and asks again by the same key`, async (t) => {
    const added: { key?: string }[] = []
    const { page, dialog } = await open(t, `#/log/${ENTRY.locator}`, {
      ...withEntry(SKIPPED),
      requests: aRequestDesk(added),
    })
    const keys: unknown[] = []
    await page.route('**/data/requests', async (route) => {
      keys.push(route.request().postDataJSON().key)
      return keys.length === 1 ? lose(route) : route.continue()
    })
    await page.getByRole('button', { name: 'Try again: this message' }).click()
    await dialog.getByLabel(/^Reason/).fill('the member called')
    await dialog.getByRole('button', { name: 'Try again', exact: true }).click()
    await dialog.getByText(/It may have taken the request/).waitFor()
    await dialog.getByRole('button', { name: 'Try again', exact: true }).click()
    await dialog.getByRole('status').waitFor()
    t.match(keys, [/^[0-9a-f]{32}$/, keys[0]])
    t.match(added.at(-1), { key: keys[0] })
  })

test('where trying again would not help, the entry says why, and has no button', async (t) => {
  const requests = aRequestDesk([], { preview: async () => preview({ ...WILL_BE_SKIPPED, count: 1 }) })
  const { page } = await open(t, `#/log/${ENTRY.locator}`, { ...withEntry(SKIPPED), requests })
  await page
    .getByText('Nothing. Trying again would not help: it would be skipped again: event type opted out.')
    .waitFor()
  t.equal(await page.getByText(/only (on request|if a retry)/).count(), 0, 'one next')
  t.equal(await page.getByRole('button', { name: /Try again/ }).count(), 0)
})

test('an entry without a member can be read again, by the envelope map of today', async (t) => {
  const added: unknown[] = []
  const decisions = SKIPPED.decisions.map((one) => ({ ...one, facts: { ...one.facts, party: 'missing' } }))
  const logEntries = {
    list: async () => ({ items: [], next: null }),
    get: async () => ({ ...SKIPPED, decisions }),
  }
  const { page, dialog } = await open(t, `#/log/${ENTRY.locator}`, {
    logEntries,
    requests: aRequestDesk(added),
  })
  await page.getByRole('button', { name: 'Read again: this event' }).click()
  await dialog.getByText(/by the current map/).waitFor()
  await dialog.getByLabel(/^Reason/).fill('the map was wrong')
  await dialog.getByRole('button', { name: 'Read again', exact: true }).click()
  await dialog.getByRole('status').waitFor()
  t.match(added, [{ wanted: { kind: 'retry', locators: [ENTRY.locator], readAgain: true } }])
})

test('all entries of a filter are asked for, not those of the page, and the dialog says what will happen', async (t) => {
  const added: unknown[] = []
  const requests = aRequestDesk(added, {
    preview: async (wanted) => {
      const isAll = !('filter' in wanted && 'from' in wanted.filter)
      return {
        ...preview(
          {
            ...{ reason: 'party not found', count: isAll ? 1_230 : 900, isUnchanged: false },
            reasonPrefix: 'party not found',
          },
          { ...WILL_BE_SKIPPED, count: 40 },
        ),
        ages: { day: 900, week: 0, older: isAll ? 330 : 0 },
      }
    },
  })
  const { page, dialog } = await open(t, '#/log?rule=no-email&notTold=true', {
    ...withEntry(SKIPPED),
    requests,
  })
  await page.getByRole('button', { name: /^Try all again/ }).click()
  t.equal(
    await dialog.getByRole('link', { name: 'party not found' }).getAttribute('href'),
    '#/log?notTold=true&rule=no-email&reasonPrefix=party+not+found',
  )
  await dialog.getByText('40: stays unchanged: it would be skipped again').waitFor()
  await dialog.getByText('Old news is among them: 900 up to a day old, 0 up to a week, 330 older.').waitFor()
  await dialog.getByLabel('Only those since').selectOption('last 24 hours')
  await dialog.getByRole('button', { name: 'Try all again (900)' }).waitFor()
  t.equal(await dialog.getByText('Old news').count(), 0)
  await dialog.getByLabel('Only those since').selectOption('the beginning of this list')
  await dialog.getByLabel(/^Reason/).fill('addresses were imported')
  const refuse = (route: Route) =>
    route.fulfill({ status: 429, contentType: 'application/json', body: '{"detail":"Later."}' })
  await page.route('**/data/requests', refuse, { times: 1 })
  await page.route('**/data/requests', (route) => route.abort(), { times: 1 })
  await dialog.getByRole('button', { name: 'Try all again (1,230)' }).click()
  await dialog.getByText(/It may have taken the request/).waitFor()
  await dialog.getByRole('button', { name: 'Try all again (1,230)' }).click()
  await dialog.getByText('Later.').waitFor()
  t.equal(await dialog.getByLabel('Only those since').count(), 0, 'another request would not count')
  t.equal(await dialog.getByLabel(/^Reason/).isEditable(), false)
  await dialog.getByRole('button', { name: 'Try all again (1,230)' }).click()
  await dialog.getByRole('link', { name: 'Request 12' }).waitFor()
  t.match(added, [
    { wanted: { kind: 'retry', filter: { rule: 'no-email' } }, because: 'addresses were imported' },
  ])
  await page.goto(page.url().replace(/#.*/, '#/log'))
  await page
    .getByRole('link', { name: /ago|2026/ })
    .first()
    .waitFor()
  t.equal(await page.getByRole('button', { name: /^Try all again/ }).count(), 0, 'not for the whole log')
})

test('an operator processes the rejected messages of one fault again by four clicks', async (t) => {
  const added: unknown[] = []
  const { page, dialog } = await open(t, '#/rejected', { requests: aRequestDesk(added) })
  await page.getByText('Filters').click()
  await page.getByLabel('Error code').selectOption('not-json')
  // The list of the old filter has the same buttons, and leaving it closes its dialogue.
  const listed = page.waitForResponse(/code=not-json/)
  await page.getByRole('button', { name: 'Search' }).click()
  await listed
  await page.getByRole('button', { name: /^Process all again/ }).click()
  await dialog.getByLabel(/^Reason/).fill('the map reads it now')
  await dialog.getByRole('button', { name: 'Process all again', exact: true }).click()
  await dialog.getByRole('link', { name: 'Request 12' }).waitFor()
  t.match(added, [{ wanted: { kind: 'redrive', filter: { code: 'not-json' } } }])
  await dialog.getByRole('button', { name: 'Close' }).click()
  await page.getByRole('button', { name: 'Dismiss: message 7' }).first().click()
  await dialog.getByText(/Their members get no message/).waitFor()
  await dialog.getByLabel(/^Reason/).fill('junk')
  await dialog.getByRole('button', { name: 'Dismiss', exact: true }).click()
  await dialog.getByRole('link', { name: 'Request 12' }).waitFor()
  t.match(added[1], { wanted: { kind: 'dismiss', ids: ['7'] }, because: 'junk' })
})

test('an unreadable batch is skipped from the status of the service, with what is lost by it', async (t) => {
  const added: unknown[] = []
  const { status } = aConsole()
  const blocked = {
    ...{ topic: 'claims', partition: 3, offset: '1207', since: TIME },
    ...{ reason: 'undecodable', remedy: 'its next record batch cannot be decoded', isSkippable: true },
  }
  const { page, dialog } = await open(t, '#/', {
    requests: aRequestDesk(added, { preview: async () => ({ count: 1, isMore: false, groups: [] }) }),
    status: async () => ({
      ...(await status()),
      blocked: [blocked, { ...blocked, partition: 4, isSkippable: false }],
    }),
  })
  await page.getByText('2 blocked partitions').click()
  t.equal(await page.getByRole('button', { name: /Skip this batch/ }).count(), 1)
  await page.getByRole('button', { name: 'Skip this batch: offset 1207 of claims/3' }).click()
  await dialog.getByText(/unless they are published again/).waitFor()
  await dialog.getByLabel(/^Reason/).fill('disk error')
  await dialog.getByRole('button', { name: 'Skip this batch', exact: true }).click()
  await dialog.getByRole('link', { name: 'Request 12' }).waitFor()
  t.match(added, [{ wanted: { kind: 'skip', batch: { topic: 'claims', partition: 3, offset: '1207' } } }])
})

test('requests are listed with their results; an open one can be cancelled', async (t) => {
  const added: unknown[] = []
  const { page } = await open(t, '#/requests', { requests: aRequestDesk(added) })
  const row = page.getByRole('region', { name: 'Requests' }).locator('tbody tr')
  await row.getByText('In progress: 3 sent, 1 left unchanged.').waitFor()
  t.strictSame(await accessibilityFaults(page), [])
  await row.getByRole('link').first().click()
  await page.getByText('it was sent').waitFor()
  await page.getByText(`retry of log entry ${ENTRY.locator}`).waitFor()
  const entries = page.getByRole('link', { name: 'Log entries of this request' })
  t.equal(await entries.getAttribute('href'), '#/log?request=12')
  const cancelled = page.waitForResponse(/cancel$/)
  await page.getByRole('button', { name: 'Cancel this request' }).click()
  await cancelled
  t.strictSame(added, [{ cancel: '12', by: 'console' }])
})

test('a reader who may not ask sees everything, and no button', async (t) => {
  const data = { ...withEntry(SKIPPED), requests: aRequestDesk() }
  for (const [path, words] of [
    [`#/log/${ENTRY.locator}`, 'What happened'],
    ['#/log?notTold=true', 'Log entries'],
    ['#/rejected', 'Unreadable messages'],
    ['#/requests/12', null],
  ] as const) {
    const { page } = await open(t, path, data, false)
    await (words === null ? page.getByText('an outage') : page.getByRole('region', { name: words })).waitFor()
    await page.waitForLoadState('networkidle')
    t.equal(await page.getByRole('button', { name: /again|Dismiss:|Cancel this/ }).count(), 0, path)
  }
})
