import type { ConsoleData } from '../../../../src/console/routes/data-routes.ts'
import { ENTRY } from '../../../service/http/fixture.ts'
import { until } from '../../../stack/until.ts'
import { aConsole, aRequestDesk, TIME } from '../../routes/fixture.ts'
import { accessibilityFaults, test, waitUntilItFits } from '../browser.ts'
import { openView } from '../open-view.ts'

test('a rejected message says what to do next, with a command for a reader who may not ask', async (t) => {
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
      { id: 12n, erasedAt: TIME, begin: null },
    ]
    return { items: [first, ...others.map((other) => ({ ...first, ...other }))], next: null }
  }
  const isOpenAsked: boolean[] = []
  const noted: ConsoleData['listRejected'] = (query, ...page) => {
    isOpenAsked.push(query.open)
    return rejected(query, ...page)
  }
  const { page } = await openView(t, '#/rejected', { listRejected: noted }, false)
  const rows = page.getByRole('region', { name: 'Unreadable messages' }).locator('tbody tr')
  await rows.nth(5).waitFor()
  const buttons = (index: number) => rows.nth(index).getByRole('button').allInnerTexts()
  t.strictSame(await buttons(0), ['rejected show 7', 'rejected redrive 7', 'rejected dismiss 7'])
  t.strictSame(await buttons(2), ['rejected show 9', 'rejected dismiss 9'])
  t.strictSame(await buttons(3), ['rejected show 11', 'rejected dismiss 11'])
  t.strictSame(await buttons(4), [])
  t.strictSame(await buttons(5), ['rejected dismiss 12'])
  t.match((await page.locator('dl').innerText()).split(/\n+/), [
    'not-json',
    /^Processing them again helps only once rules\/envelope\.json reads them/,
    'refused-by-database',
    'Process them again once the database takes their rows.',
    'unreadable, too-large',
    /their producer must publish them again\.$/,
    'erased',
    'Processing them again does not help: they were erased.',
  ])
  await page.getByText('Filters').click()
  await page.getByLabel('Settled').selectOption('true')
  await page.getByRole('button', { name: 'Search' }).click()
  await page.waitForURL(/settled=true/)
  await until(async () => isOpenAsked.length > 1, { what: 'the list with settled messages' })
  await rows.nth(4).waitFor()
  t.strictSame(isOpenAsked, [true, false], 'settled ones are hidden by default')
  await page.context().grantPermissions(['clipboard-read', 'clipboard-write'])
  await rows.nth(1).getByRole('button', { name: 'rejected redrive 8' }).click()
  await page.getByText('copied', { exact: true }).waitFor()
  t.equal(await page.evaluate('navigator.clipboard.readText()'), 'src/main.ts rejected redrive 8')
  t.strictSame(await accessibilityFaults(page), [])
  await rows.nth(4).getByRole('link', { name: 'Processed again: logged' }).click()
  await page.waitForURL(/#\/log\/NTF-/)
})

test('on a phone a rejected message takes three lines, and what helps is said once', async (t) => {
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
  const { page } = await openView(t, '#/rejected', { listRejected: rejected })
  await page.setViewportSize({ width: 390, height: 844 })
  const rows = page.getByRole('region', { name: 'Unreadable messages' }).locator('tbody tr')
  await rows.nth(6).getByRole('button', { name: 'Dismiss' }).waitFor()
  for (const row of await rows.all()) {
    const { height } = (await row.boundingBox()) ?? { height: 999 }
    t.ok(height <= 110, `${height} px`)
  }
  t.match(await rows.first().innerText(), /offset 9007199254740993[\s\S]*is not valid JSON[\s\S]*"eventType"/)
  t.equal(await page.getByText('helps only once rules/envelope.json reads').count(), 1)
  await waitUntilItFits(page)
  t.strictSame(await accessibilityFaults(page), [])
})

test('unreadable messages are listed and processed again by time', async (t) => {
  const { listRejected } = aConsole()
  const asked: { since: unknown }[] = []
  const added: { wanted?: object }[] = []
  const { page } = await openView(t, '#/rejected?code=not-json', {
    listRejected: async (query, ...rest) => {
      asked.push(query)
      return listRejected(query, ...rest)
    },
    requests: aRequestDesk(added),
  })
  await page.getByRole('link', { name: 'Yesterday' }).click()
  await page.getByText(/^Time: Yesterday/).waitFor()
  await until(async () => asked.at(-1)?.since, { what: 'the list of yesterday' })
  t.match(asked.at(-1), { code: 'not-json', since: /T/, before: /T/, open: true })
  await page.getByRole('button', { name: /^Process all again/ }).click()
  await page
    .getByRole('dialog')
    .getByLabel(/^Reason/)
    .fill('the map reads them')
  await page.getByRole('button', { name: 'Process all again', exact: true }).click()
  await page.getByRole('link', { name: 'Request 12' }).waitFor()
  t.match(added[0]?.wanted, { kind: 'redrive', filter: { code: 'not-json', since: /T/, before: /T/ } })
})
