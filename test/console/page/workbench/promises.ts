import { PROMISE_COUNT } from '../../../authoring/default-table.ts'
import { test } from '../browser.ts'
import { openWorkbench, waitForVerdict } from '../open-workbench.ts'

test('a case is excluded from a broken promise, to which the verdict leads', async (t) => {
  const { page } = await openWorkbench()
  await page.getByText('Rules that no promise guards').click()
  await page.getByText('no promise guards "email" (row').waitFor()
  await page.getByLabel('event type, opted-out').fill('not claim.paid')
  const broken = page.getByRole('button', { name: `1 promise of ${PROMISE_COUNT} broken` })
  const proposal = page.getByRole('region', { name: 'Propose' })
  await proposal.getByText(new RegExp(`^1 promise of ${PROMISE_COUNT} broken\\. `)).waitFor()
  await proposal.getByText(/^First correct the faults/).waitFor()
  t.equal(
    await proposal.getByRole('button', { name: 'Download dispatch.csv' }).getAttribute('aria-disabled'),
    'false',
  )
  await broken.click()
  t.equal(await page.evaluate('document.activeElement.id'), 'broken')
  t.equal(await page.getByRole('button', { name: 'Exclude this case' }).count(), 0, 'not by a single click')
  await page.getByText('If you mean it…').click()
  await page.getByText('no longer forbids this').waitFor()
  await page.getByRole('button', { name: 'Exclude this case' }).click()
  await waitForVerdict(page, `All ${PROMISE_COUNT} promises kept`)
  await waitForVerdict(page, '1 promise narrowed, 1 rule narrowed')
  await page
    .getByText(
      'is now "We never tell a member about an event type that the member opted out of (but for claim.paid)"',
    )
    .first()
    .waitFor()
  await page.getByText('event type "not claim.paid" instead of any').first().waitFor()
  await page.getByLabel('outcome, no-email').selectOption('FAIL')
  await page.getByLabel('reason, no-email').fill('')
  await page.getByRole('button', { name: 'Texts', exact: true }).click()
  await page.getByRole('button', { name: '1 fault' }).click()
  t.equal(await page.evaluate('document.activeElement.ariaLabel'), 'reason, no-email')
})
