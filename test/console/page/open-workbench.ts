import type { Page } from 'playwright-core'
import t from 'tap'
import { createWorkbench } from '../../../src/console/routes/create-workbench.ts'
import { readRuleFiles } from '../../../src/service/app/rule-files.ts'
import { openPool } from '../../../src/service/store/connection/pool.ts'
import { record } from '../../service/store/record.ts'
import { createMigratedDatabase } from '../../stack/databases.ts'
import { serveConsole } from '../routes/fixture.ts'
import { sharedTab } from './browser.ts'

let shared: ReturnType<typeof startWorkbench> | undefined

/** Opens the workbench of this process over the files in force and three recorded events. */
export async function openWorkbench(viewport?: { width: number; height: number }) {
  shared ??= startWorkbench()
  const { url, workbench } = await shared
  const { page, complaints } = await sharedTab(url)
  if (viewport) await page.setViewportSize(viewport)
  await page.goto(`${url}/console#/workbench`)
  await waitForVerdict(page, 'No faults')
  return { page, complaints, workbench }
}

async function startWorkbench() {
  const [database, ruleFiles] = await Promise.all([createMigratedDatabase(), readRuleFiles()])
  const pool = await openPool({ databaseUrl: database.url, connectionCountMax: 1 })
  await record(pool, [
    { eventId: 'paid-1', eventType: 'invoice.paid' },
    { eventId: 'paid-2', eventType: 'invoice.paid' },
    { eventId: 'claim-paid' },
  ])
  const workbench = createWorkbench({ repositoryUrl: 'https://github.com/insurer/n' }, ruleFiles, () => pool)
  const http = serveConsole({ workbench })
  t.teardown(async () => {
    await http.close()
    await pool.end()
    await database.drop()
  })
  return { url: await http.listen(), workbench }
}

export const waitForVerdict = (page: Page, words: string | RegExp) =>
  page.locator('.verdict').filter({ hasText: words }).waitFor()

/** Replaces the rules of the draft by those of a file. */
export async function pasteRules(page: Page, csv: string): Promise<void> {
  await page.getByText('Paste a CSV…').click()
  await page.getByLabel('Paste the whole of a dispatch.csv').fill(csv)
  await page.getByRole('button', { name: 'Use this file' }).click()
}
