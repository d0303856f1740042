import type { Page } from 'playwright-core'
import { above, rule } from '../../../authoring/build.ts'
import { until } from '../../../stack/until.ts'
import { accessibilityFaults, test } from '../browser.ts'
import { openWorkbench } from '../open-workbench.ts'

const look = (page: Page) => page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")

test("a colleague's change is shown row by row, and the draft kept or dropped", async (t) => {
  const { page, workbench } = await openWorkbench()
  const start = await workbench.start()
  const theirs = {
    ...start,
    templates: [
      { name: 'claim.reopened.mustache', text: 'Subject: Open\n\nOf {{locator}}.\n' },
      // The generic text has to stay as it is.
      ...start.templates.map(({ name, text }) => ({
        name,
        text: name === 'generic.mustache' ? text : `${text}Theirs.\n`,
      })),
    ],
    table: above('opted-out', [rule({ rule: 'colleague', eventType: 'claim.paid', party: 'found' })])
      .replace('no phone on file', 'no number')
      .replace(
        '"The member prefers to read messages in the app, which needs no address."',
        'They read in the app.',
      ),
  }
  await page.getByLabel('reason, no-email').fill('no address')
  await page.getByLabel('reason, no-phone').fill('phone unknown')
  await page.getByRole('button', { name: 'Texts', exact: true }).click()
  const text = page.getByRole('region', { name: 'The file' }).getByRole('textbox')
  await text.fill('Subject: Mine\n\nOf {{locator}}.\n')
  await page.route('**/console/data/workbench', (route) => route.fulfill({ json: theirs }))
  await look(page)
  const banner = page.getByRole('alert').filter({ hasText: 'Others have changed the files' })
  await banner.getByText('rule added: "colleague"').waitFor()
  await banner.getByText('text changed: claim.paid.mustache').waitFor()
  await banner.getByText('text added: claim.reopened.mustache').waitFor()
  await banner.getByText('rule changed: "no-phone": reason "no number"').waitFor()
  await banner.getByText('rule changed: "in-app": because "They read in the app."').waitFor()
  t.strictSame(await accessibilityFaults(page), [])
  await page.getByText('Others have changed the files in force: first keep or drop').waitFor()
  await banner.getByRole('button', { name: 'Keep my draft' }).click()
  await banner.waitFor({ state: 'hidden' })
  t.match(await text.inputValue(), /Mine/)
  await page.getByRole('button', { name: 'Rules', exact: true }).click()
  t.equal(await page.getByLabel('reason, no-email').inputValue(), 'no address')
  const proposal = page.getByLabel('Text for the pull request')
  const keepsTheirs = async () => /#### claim\.paid(?!.*claim\.reopened)/s.test(await proposal.inputValue())
  await until(keepsTheirs, { what: 'a proposal that leaves their new text alone' })
  await page.unroute('**/console/data/workbench')
  await look(page)
  await banner.getByRole('button', { name: 'Drop my draft' }).click()
  await banner.waitFor({ state: 'hidden' })
  t.equal(await page.getByLabel('reason, no-email').inputValue(), 'no email on file')
  await page.getByRole('link', { name: 'Rules', exact: true }).click()
  await page.getByRole('link', { name: 'Try a change in the workbench' }).click()
  await page.getByRole('button', { name: 'Undo' }).click()
  t.equal(await page.getByLabel('reason, no-email').inputValue(), 'no address', 'another view loses no undo')
})
