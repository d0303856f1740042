import { readFileSync } from 'node:fs'
import { above, rule } from '../../../authoring/build.ts'
import { test } from '../browser.ts'
import { openWorkbench, waitForVerdict } from '../open-workbench.ts'

test('an earlier table says what it changed, and can be taken as the draft', async (t) => {
  const { page } = await openWorkbench()
  const muted = above('opted-out', [
    rule({
      rule: 'muted',
      eventType: 'invoice.paid',
      party: 'found',
      reason: 'muted',
      because: 'They say so.',
    }),
  ])
  const inForce = readFileSync('test/first/rules/dispatch.csv', 'utf8')
  const sources: Record<string, string> = { b: muted, a: inForce }
  const at = (day: string, revision: string) => ({
    revision,
    gitCommit: 'c'.repeat(40),
    gitSubject: revision === 'b' ? 'Mute paid invoices (#7)' : null,
    activatedAt: `2026-03-${day}T00:00:00.000000Z`,
  })
  await page.route('**/rules', (route) =>
    route.fulfill({
      json: {
        revision: 'a',
        activations: [at('20', 'a'), at('10', 'b'), at('01', 'a')],
        warnings: [],
        rules: [],
      },
    }),
  )
  await page.route('**/rule-tables/*', (route) =>
    route.fulfill({ json: { source: sources[route.request().url().at(-1) ?? ''] ?? null } }),
  )
  await page.reload()
  await waitForVerdict(page, 'No faults')
  const second = page.getByRole('region', { name: 'Earlier tables' }).getByRole('listitem').nth(1)
  t.match(
    await second.getByRole('link', { name: 'Mute paid invoices (#7)' }).getAttribute('href'),
    `https://github.com/insurer/n/commit/${'c'.repeat(40)}`,
  )
  await second.getByRole('button', { name: 'What it changed' }).click()
  await second.getByText('no longer sent').first().waitFor()
  await second.getByRole('button', { name: 'Take as the draft' }).click()
  await waitForVerdict(page, '1 rule added')
  await page.getByRole('button', { name: 'Undo' }).click()
  await page.getByText('Nothing: every situation has the same decision as now.').waitFor()
})
