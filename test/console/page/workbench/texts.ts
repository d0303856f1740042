import { strFromU8, unzipSync } from 'fflate'
import { accessibilityFaults, download, test } from '../browser.ts'
import { openWorkbench, waitForVerdict } from '../open-workbench.ts'

test('a text is edited, another is new: both count in verdict, trial and proposal', async (t) => {
  const { page, complaints } = await openWorkbench()
  await page.getByRole('button', { name: 'Texts', exact: true }).click()
  await page.getByRole('combobox', { name: /^Text for/ }).selectOption('claim.paid.mustache')
  const text = page.getByLabel('templates/claim.paid.mustache')
  const preview = page.getByRole('region', { name: 'As members get it' })
  await preview.getByText('Text message').waitFor()
  const before = await text.inputValue()
  await text.fill(before.replace('{{locator}}', '{{lokator}}'))
  await page.getByText('"lokator" is not a variable').waitFor()
  await waitForVerdict(page, '1 fault')
  await page.getByRole('combobox', { name: /^Text for/ }).selectOption('claim.rejected.mustache')
  await preview.getByText('First correct the faults of claim.paid.mustache.').waitFor()
  await page.getByRole('button', { name: '1 fault', exact: true }).click()
  await text.and(page.locator(':focus')).waitFor()
  await text.fill(`${before}We paid “at once”.\n`)
  await waitForVerdict(page, '1 text differs')
  await page.getByText('“ ” are not in the alphabet of SMS').waitFor()
  await preview.getByText('– 3 segments (UCS-2)').or(preview.getByText('(UCS-2)')).first().waitFor()
  await page.getByText('We paid “at once”.').nth(2).waitFor()

  const add = async (eventType: string) => {
    await page.getByLabel('Event type without a text').fill(eventType)
    await page.getByRole('button', { name: 'Add a text' }).click()
  }
  for (const slip of ['claim.rejectd', 'Claim.reopened', 'claim reopened', 'claim.reopened (1)']) {
    await add(slip)
    await page.getByText(`The file name "${slip}" is not an accepted event type; did you mean`).waitFor()
    await page.getByRole('button', { name: 'Remove this text' }).click()
  }
  await add('claim.reopened')
  await page
    .getByLabel('templates/claim.reopened.mustache')
    .fill('Subject: Open again\n\nClaim {{locator}}.\n')
  await waitForVerdict(page, '2 texts differ')
  await page.getByLabel('Event type', { exact: true }).fill('')
  await page.getByText('Enter an event type.').waitFor()
  await page.getByLabel('Event type', { exact: true }).fill('claim.reopened')
  await page.getByText('Claim CLM-2026-00056.').last().waitFor()
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme })
    t.strictSame(await accessibilityFaults(page), [], colorScheme)
  }

  const files = unzipSync((await download(page, 'Download proposal.zip')).content)
  t.strictSame(Object.keys(files), [
    'templates/claim.paid.mustache',
    'templates/claim.reopened.mustache',
    'rules/outcomes.txt',
  ])
  t.equal(strFromU8(files['templates/claim.paid.mustache'] as Uint8Array), `${before}We paid “at once”.\n`)
  t.match(
    await page.getByLabel('Text for the pull request').inputValue(),
    /### Texts: 2 event types with another text.*claim.reopened: new, was the generic text/s,
  )
  t.strictSame(complaints, [])
})

test('a part is edited like a text, and changes each text that inserts it', async (t) => {
  const { page } = await openWorkbench()
  await page.getByRole('button', { name: 'Texts', exact: true }).click()
  const choose = (file: string) => page.getByRole('combobox', { name: /^Text for/ }).selectOption(file)
  await page.getByLabel('Event type without a text').fill('parts/bye')
  await page.getByRole('button', { name: 'Add a text' }).click()
  await page.getByLabel('templates/parts/bye.mustache').fill('Goodbye, {{nobody}}.\n')
  await page.getByText('"nobody" is not a variable').waitFor()
  await page.getByLabel('templates/parts/bye.mustache').fill('Goodbye.\n')
  await page.getByText('A part, which texts insert by {{> bye}}.').waitFor()
  for (const file of ['claim.paid.mustache', 'claim.approved.mustache']) {
    await choose(file)
    const text = page.getByLabel(`templates/${file}`)
    await text.fill(`${await text.inputValue()}{{> bye}}\n`)
  }
  await waitForVerdict(page, '2 texts differ')
  t.match(await page.getByRole('region', { name: 'As members get it' }).innerText(), /\nGoodbye\./)
})

test('a text is offered for each recent event type without one, and refused for a misspelt one', async () => {
  const { page } = await openWorkbench()
  const lastAt = new Date().toISOString()
  const items = ['policy.transferred', 'claim.paid'].map((eventType) => ({ eventType, lastAt }))
  await page.route('**/event-types*', (route) => route.fulfill({ json: { items, nextCursor: null } }))
  await page.reload()
  await page.getByRole('button', { name: 'Texts' }).click()
  const field = page.getByLabel('Event type without a text')
  await page.locator('#without-text option[value="policy.transferred"]').waitFor({ state: 'attached' })
  await page.locator('#without-text option[value="claim.paid"]').waitFor({ state: 'detached' })
  await field.fill('policy.transfered')
  await page.getByRole('button', { name: 'Add a text' }).click()
  await page.getByText('is not an accepted event type; did you mean "policy.transferred"?').waitFor()
})
