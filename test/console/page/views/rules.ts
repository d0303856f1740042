import type { DecisionGroup } from '../../../../src/service/model/decision-group.ts'
import { aWorkbench } from '../../routes/fixture.ts'
import { test } from '../browser.ts'
import { openView } from '../open-view.ts'

test('a rule is shown with its conditions, and leads to the entries that it decided', async (t) => {
  const { page } = await openView(t, '#/rules')
  await page.getByText('In force since').waitFor()
  await page.getByText('it misses one').waitFor()
  const rule = page.getByRole('row', { name: 'sms' })
  t.match(await rule.innerText(), /party found[\s\S]*opted out no[\s\S]*by text message[\s\S]*It is wanted\./)
  await Promise.all([
    page.waitForRequest(/log\/list\?rule=sms&limit/),
    rule.getByRole('link', { name: 'sms' }).click(),
  ])
})

test('the events of each rule in a period are counted over all pages, with those of rules that are gone', async (t) => {
  const group = (ruleId: string, outcome: string, count: number): DecisionGroup => ({
    id: ruleId,
    facts: { eventType: 'claim.paid', party: 'found' },
    earlier: [],
    onRequest: false,
    ruleId,
    outcome,
    channel: 'SMS',
    ruleTableRevision: 'r',
    isPartyInvalid: false,
    count,
    locators: [],
  })
  const pages = [
    { events: 4, groups: [group('sms', 'SEND', 3), group('older', 'SKIP', 1)], nextCursor: 'NTF-2' },
    { events: 1_000, groups: [group('sms', 'SEND', 999), group('sms', 'FAIL', 1)], nextCursor: null },
  ]
  const readDecisions = async ({ cursor }: { cursor?: string | null | undefined }) =>
    pages[cursor ? 1 : 0] ?? { events: 0, groups: [], nextCursor: null }
  const { page } = await openView(t, '#/rules', { workbench: aWorkbench({ readDecisions }) })
  await page.getByRole('button', { name: 'Count the events of each rule' }).click()
  await page
    .getByText('Of 1,004 events, 1,002 were to be sent, 1 skipped, and 1 failed.')
    .filter({ hasText: 'By rules that this table does not have: older 1.' })
    .waitFor()
  t.match(await page.getByRole('row', { name: 'sms' }).innerText(), /1,003/)
  t.match(await page.getByRole('row', { name: 'muted' }).innerText(), /\b0\b/, 'a rule that decided nothing')
  t.match(
    await page.getByRole('link', { name: 'sms' }).getAttribute('href'),
    /rule=sms&from=20.*&to=20/,
    'its entries of the period',
  )
})
