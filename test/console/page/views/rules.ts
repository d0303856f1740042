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
