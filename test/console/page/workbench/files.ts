import { above, rule } from '../../../authoring/build.ts'
import { PROMISE_COUNT } from '../../../authoring/default-table.ts'
import { test } from '../browser.ts'
import { openWorkbench, waitForVerdict } from '../open-workbench.ts'
import { HOSTILE } from '../seed.ts'

test('a file is pasted whole and stays text; one that cannot be split is refused', async (t) => {
  const { page, complaints } = await openWorkbench()
  const { eventType } = HOSTILE
  await page.getByText('Paste a CSV…').click()
  const pasted = page.getByLabel(/^Paste the whole of a dispatch\.csv/)
  const use = page.getByRole('button', { name: 'Use this file' })
  await pasted.fill('rule,nonsense\na,b\n')
  await use.click()
  await page.getByRole('alert').filter({ hasText: '"nonsense" is not a column' }).waitFor()
  const texts = { reason: eventType, because: eventType }
  const hostile = rule({ ...texts, eventType: 'claim.paid', party: 'found', optedOut: false })
  await pasted.fill(above('no-email', [hostile]).replace(',SKIP', ',<b>'))
  await use.click()
  await page.getByRole('button', { name: '1 fault' }).click()
  await page.getByText('"<b>"').first().waitFor()
  await page.getByLabel('outcome, party-not-found').selectOption('SKIP')
  await page.getByText(`to SKIP (${eventType}) for claim.paid`).first().waitFor()
  await page.getByLabel('Event type', { exact: true }).fill(eventType)
  await page.getByRole('combobox', { name: 'Preferred channel', exact: true }).selectOption('SMS')
  await page.getByText(`A ${eventType} event has occurred`).waitFor()
  t.equal(await page.locator('main img').count(), 0)
  t.equal(await page.evaluate('typeof attacked'), 'undefined')
  t.strictSame(complaints, [])
})

test('a promise is changed and deleted in its file, and the change is undone', async (t) => {
  const { page } = await openWorkbench()
  const name = 'We never send a text message without a phone number'
  const file = page.getByLabel(/^Paste the whole of a promises\.csv/)
  const write = async (change: (csv: string) => string) => {
    await page.getByText('Edit or paste as a CSV…').click()
    await file.fill(change(await file.inputValue()))
    await page.getByRole('button', { name: 'Use this file' }).click()
  }
  await write((csv) => csv.replace('not by SMS', 'SEND'))
  await waitForVerdict(page, `1 promise of ${PROMISE_COUNT} broken`)
  await page.getByText(`"${name}" promises SEND`).first().waitFor()
  await page.getByRole('button', { name: 'Discard my changes of promises' }).click()
  await waitForVerdict(page, `All ${PROMISE_COUNT} promises kept`)
  await write((csv) => csv.replace(new RegExp(`${name}.*\n`), ''))
  await waitForVerdict(page, `All ${PROMISE_COUNT - 1} promises kept`)
  await waitForVerdict(page, '1 promise deleted')
  await page.getByText(`promise deleted: "${name}"`).waitFor()
  await page.getByRole('button', { name: 'Undo' }).click()
  await write((csv) => csv.replace(`${name},`, `${name},invoice.payed`))
  await waitForVerdict(page, `All ${PROMISE_COUNT} promises kept`)
  await waitForVerdict(page, '1 fault')
  const promises = page.getByRole('region', { name: 'Promises', exact: true })
  await page.getByText('there is no template for "invoice.payed"').first().waitFor()
  t.equal(await promises.getByText('Broken:').count(), 0)
  await promises.getByText(`${PROMISE_COUNT} promises kept`).waitFor()
})
