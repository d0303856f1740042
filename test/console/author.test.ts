import { readFile } from 'node:fs/promises'
import type { Page } from 'playwright-core'
import t from 'tap'
import { readRuleFiles } from '../../src/app/rule-files.ts'
import { createWorkbench } from '../../src/app/workbench/workbench.ts'
import { readConsolePage } from '../../src/http/console/page.ts'
import { aConsole, aManagement } from '../http/console/fixture.ts'
import { until } from '../stack/until.ts'
import { openTab, startBrowser, withoutBrowser } from './browser.ts'

type Cells = Readonly<Record<string, string>>

/** One step of a change; each cell, button and field counts as one click. */
type Step =
  | { readonly above: string; readonly cells: Cells }
  | { readonly rule: string; readonly cells: Cells }
  | { readonly press: string }
  | { readonly text: string; readonly replace: readonly [string, string] }
  | { readonly newText: string; readonly content: string }

interface Change {
  readonly name: string
  readonly steps: readonly Step[]
  readonly clickCountMax: number
  /** The beginning of the text for the pull request. Those of changes in rules/README.md stand there. */
  readonly summary?: RegExp
}

const found = { party: 'found' }
const because = 'The product owner decided so in November.'
const CHANGES: readonly Change[] = [
  {
    name: 'Mute a type',
    steps: [
      {
        above: 'opted-out',
        cells: {
          rule: 'muted',
          'event type': 'invoice.paid',
          ...found,
          outcome: 'SKIP',
          reason: 'event type muted',
          because,
        },
      },
    ],
    clickCountMax: 7,
  },
  {
    name: 'A type that never goes by SMS',
    steps: [
      {
        above: 'no-email',
        cells: {
          rule: 'by-email',
          'event type': 'claim.rejected',
          ...found,
          'preferred channel': 'SMS',
          'email on file': 'yes',
          outcome: 'SEND',
          'send by': 'EMAIL',
          because,
        },
      },
      { press: 'Duplicate by-email' },
      {
        rule: 'by-email-copy',
        cells: { 'email on file': 'no', outcome: 'SKIP', 'send by': '', reason: 'no email on file' },
      },
    ],
    clickCountMax: 15,
  },
  {
    name: 'A critical type that ignores the opt-out',
    steps: [
      { rule: 'opted-out', cells: { 'event type': 'not claim.rejected' } },
      { press: '1 promise of 6 broken' },
      { press: 'Exclude this case' },
    ],
    clickCountMax: 5,
  },
  {
    name: 'Claims by email where there is no phone',
    steps: [
      {
        above: 'no-phone',
        cells: {
          rule: 'claims-by-email',
          'event type': 'claim.*',
          ...found,
          'preferred channel': 'SMS',
          'email on file': 'yes',
          'phone on file': 'no',
          outcome: 'SEND',
          'send by': 'EMAIL',
          because,
        },
      },
    ],
    clickCountMax: 10,
  },
  {
    name: 'Mute two types',
    steps: [
      {
        above: 'opted-out',
        cells: {
          rule: 'muted',
          'event type': 'invoice.finalised or payment.received',
          ...found,
          outcome: 'SKIP',
          reason: 'event type muted',
          because,
        },
      },
    ],
    clickCountMax: 7,
  },
  {
    name: 'A lapsed policy in spite of an opt-out',
    steps: [
      { rule: 'opted-out', cells: { 'event type': 'not policy.lapsed' } },
      { press: '1 promise of 6 broken' },
      { press: 'Exclude this case' },
    ],
    clickCountMax: 5,
  },
  {
    name: 'Nothing for unknown types',
    steps: [
      {
        above: 'email',
        cells: {
          rule: 'no-text',
          'event type': 'no template',
          ...found,
          outcome: 'SKIP',
          reason: 'no text',
          because,
        },
      },
    ],
    clickCountMax: 7,
  },
  {
    name: 'An overdue invoice by SMS',
    steps: [
      {
        above: 'no-email',
        cells: {
          rule: 'overdue-by-sms',
          'event type': 'invoice.overdue',
          ...found,
          'phone on file': 'yes',
          outcome: 'SEND',
          'send by': 'SMS',
          because,
        },
      },
    ],
    clickCountMax: 8,
  },
  {
    name: 'Another wording of a text',
    steps: [{ press: 'Texts' }, { text: 'claim.paid', replace: ['{{locator}}', '{{locator}} at last'] }],
    clickCountMax: 4,
    summary: /### Texts: 1 event type with another text/,
  },
  {
    name: 'A new event type with its text',
    steps: [
      { press: 'Texts' },
      {
        newText: 'claim.reopened',
        content: 'Subject: Open again\n\nYour claim {{locator}} is open again.\n',
      },
    ],
    clickCountMax: 5,
    summary: /### Texts: 1 event type with another text.*claim.reopened: new/s,
  },
]

if (withoutBrowser) t.plan(0, withoutBrowser)
else await testChanges()

async function testChanges(): Promise<void> {
  const [browser, ruleFiles, page] = await Promise.all([
    startBrowser(),
    readRuleFiles(),
    readFile(new URL('../../rules/README.md', import.meta.url), 'utf8'),
  ])
  const workbench = createWorkbench(
    { database: { url: 'postgres://unused' }, repositoryUrl: null },
    ruleFiles,
  )
  const { app } = aManagement({ consolePage: readConsolePage(), consoleData: aConsole({ workbench }) })
  const url = await app.listen({ port: 0, host: '127.0.0.1' })
  t.teardown(async () => {
    await browser.close()
    await workbench.close()
    await app.close()
  })
  for (const { name, steps, clickCountMax, summary } of CHANGES) {
    t.test(
      `${name}: at most ${clickCountMax} clicks to the file and the text of a pull request`,
      async (t) => {
        const tab = await openTab(browser, url)
        t.teardown(() => tab.close())
        await tab.page.goto(`${url}/console#/workbench`)
        await tab.page.locator('.verdict').filter({ hasText: '0 situations change' }).waitFor()
        let clickCount = 0
        for (const step of steps) clickCount += await perform(tab.page, step)
        const expected = summary ?? summaryOf(page, name)
        const text = tab.page.getByLabel('Text for the pull request')
        await until(async () => expected.test(await text.inputValue()), { what: `the summary ${expected}` })
        const [download] = await Promise.all([
          tab.page.waitForEvent('download'),
          tab.page.getByRole('button', { name: /^Download (\S+\.(csv|zip|mustache))$/ }).click(),
        ])
        t.match(await text.inputValue(), expected, download.suggestedFilename())
        t.ok(++clickCount <= clickCountMax, `${clickCount} clicks`)
      },
    )
  }
}

/** The sentence of the worked change of this name. */
function summaryOf(page: string, name: string): RegExp {
  const [, rest = ''] = page.split(`### ${name}\n`)
  const [, words = ''] = /The summary says: (.*)\.\n/.exec(rest) ?? []
  return new RegExp(`^### Rule table: ${words}`)
}

/** Returns the number of clicks. */
async function perform(page: Page, step: Step): Promise<number> {
  if ('press' in step) {
    await page.getByRole('button', { name: step.press, exact: true }).first().click()
    return 1
  }
  if ('text' in step) {
    await page.getByRole('combobox', { name: /^Text for/ }).selectOption(`${step.text}.mustache`)
    const text = page.getByLabel(`templates/${step.text}.mustache`)
    await text.fill((await text.inputValue()).replace(...step.replace))
    return 2
  }
  if ('newText' in step) {
    await page.getByLabel('Event type without a text').fill(step.newText)
    await page.getByRole('button', { name: 'Add a text' }).click()
    await page.getByLabel(`templates/${step.newText}.mustache`).fill(step.content)
    return 3
  }
  if ('above' in step) await page.getByRole('button', { name: `Add a rule above ${step.above}` }).click()
  let rule = 'rule' in step ? step.rule : 'unnamed rule'
  for (const [column, value] of Object.entries(step.cells)) {
    const cell = page.getByLabel(`${column}, ${rule}`, { exact: true })
    const isChoice = await cell.evaluate((element) => (element as { tagName?: string }).tagName === 'SELECT')
    await (isChoice ? cell.selectOption(value) : cell.fill(value))
    if (column === 'rule') rule = value
  }
  // The name of a new row has the focus at once.
  return Object.keys(step.cells).length
}
