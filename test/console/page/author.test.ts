import { readFile } from 'node:fs/promises'
import type { Page } from 'playwright-core'
import t from 'tap'
import { createWorkbench } from '../../../src/console/routes/back-tests.ts'
import { readRuleFiles } from '../../../src/service/app/rule-files.ts'
import { type Row, rule } from '../../authoring/build.ts'
import { PROMISE_COUNT } from '../../authoring/default-table.ts'
import { until } from '../../stack/until.ts'
import { serveConsole } from '../routes/fixture.ts'
import { download, openTab, startBrowser, withoutBrowser } from './browser.ts'

/** One step of a change; each cell, button and field counts as one click. Blank cells of a row are left as they are. */
type Step =
  | { readonly above: string; readonly row: Row }
  | { readonly rule: string; readonly cells: Readonly<Record<string, string>> }
  | { readonly press: string }
  | { readonly rule: string; readonly press: string }
  | { readonly text: string; readonly replace: readonly [string, string] }
  | { readonly newText: string; readonly content: string }

const FOUND = { party: 'found', because: 'The product owner decided so in November.' }
const MUTED = rule({ ...FOUND, rule: 'muted', eventType: 'invoice.paid', reason: 'event type muted' })

/** `summary`: a line of the text for the pull request. Those of changes in rules/README.md stand there. */
const CHANGES: readonly [name: string, clickCountMax: number, steps: readonly Step[], summary?: RegExp][] = [
  ['Mute a type', 7, [{ above: 'opted-out', row: MUTED }]],
  [
    'A type that never goes by SMS',
    15,
    [
      {
        above: 'no-email',
        row: rule({
          ...{ ...FOUND, rule: 'by-email', eventType: 'claim.rejected' },
          ...{ preferredChannel: 'SMS', emailOnFile: true, outcome: 'SEND', sendBy: 'EMAIL' },
        }),
      },
      { rule: 'by-email', press: 'Control+d' },
      {
        rule: 'by-email-copy',
        cells: {
          'email on file': 'no',
          outcome: 'SKIP',
          'send by': '',
          reason: 'no email on file',
          because: 'A rejection goes by no other way.',
        },
      },
    ],
  ],
  [
    'A critical type that ignores the opt-out',
    6,
    [
      { rule: 'opted-out', cells: { 'event type': 'not claim.rejected' } },
      { press: `1 promise of ${PROMISE_COUNT} broken` },
      { press: 'If you mean it…' },
      { press: 'Exclude this case' },
    ],
  ],
  [
    'Another wording of a text',
    4,
    [{ press: 'Texts' }, { text: 'claim.paid', replace: ['{{locator}}', '{{locator}} at last'] }],
    /### Texts: 1 event type with another text/,
  ],
  [
    'A new event type with its text',
    5,
    [
      { press: 'Texts' },
      {
        newText: 'claim.reopened',
        content: 'Subject: Open again\n\nYour claim {{locator}} is open again.\n',
      },
    ],
    /### Texts: 1 event type with another text.*claim.reopened: new/s,
  ],
]

if (withoutBrowser) t.plan(0, withoutBrowser)
else await testChanges()

async function testChanges(): Promise<void> {
  const [browser, ruleFiles, readme] = await Promise.all([
    startBrowser(),
    readRuleFiles(),
    readFile(new URL('../../../rules/README.md', import.meta.url), 'utf8'),
  ])
  const workbench = createWorkbench({ repositoryUrl: null }, ruleFiles, () => {
    throw new Error('no database is needed')
  })
  const http = serveConsole({ workbench })
  const url = await http.listen()
  const withFewColumns = serveConsole({
    workbench: { ...workbench, start: async () => ({ ...(await workbench.start()), promises: FEW_COLUMNS }) },
  })
  t.teardown(async () => {
    await browser.close()
    await http.close()
    await withFewColumns.close()
  })
  const tab = await openTab(browser, url)
  const { page } = tab
  for (const [name, clickCountMax, steps, summary] of CHANGES) {
    t.test(`${name}: at most ${clickCountMax} clicks to a pull request`, async (t) => {
      await tab.renew()
      await page.goto(`${url}/console#/workbench`)
      await page.locator('.verdict').filter({ hasText: '0 situations change' }).waitFor()
      let clickCount = 0
      for (const step of steps) clickCount += await perform(page, step)
      const expected = summary ?? summaryOf(readme, name)
      const text = page.getByLabel('Text for the pull request')
      await until(async () => expected.test(await text.inputValue()), { what: `the summary ${expected}` })
      const { name: file } = await download(page, /^Download (\S+\.(csv|zip|mustache))$/)
      t.match(await text.inputValue(), expected, file)
      t.ok(++clickCount <= clickCountMax, `${clickCount} clicks`)
    })
  }

  t.test('a changed file keeps its own columns, and gets another if a cell needs it', async (t) => {
    const fewUrl = await withFewColumns.listen()
    const few = await openTab(browser, fewUrl)
    await few.page.goto(`${fewUrl}/console#/workbench`)
    await few.page.locator('.verdict').filter({ hasText: 'All 1 promises kept' }).waitFor()
    const changed = async (csv: string) => {
      await few.page.getByText('Edit or paste as a CSV…').click()
      const file = few.page.getByLabel('Paste the whole of a promises.csv')
      t.match(await file.inputValue(), 'not SEND,', 'the file is there to be edited')
      await file.fill(csv)
      await few.page.getByRole('button', { name: 'Use this file' }).click()
      await few.page.locator('.verdict').filter({ hasText: '1 promise' }).waitFor()
      return String((await download(few.page, 'Download promises.csv')).content)
    }
    const renamed = FEW_COLUMNS.replace('Opted out is opted out', 'P')
    t.equal(await changed(renamed), renamed)
    t.equal(
      await changed('promise,event type,party,opted out,outcome,send by,reason\nP,,found,yes,not SEND,,\n'),
      'outcome,promise,event type,party,opted out,send by,reason\nnot SEND,P,,found,yes,,\n',
    )
    await few.close()
  })
}

const FEW_COLUMNS =
  'outcome,promise,event type,opted out,send by,reason\nnot SEND,Opted out is opted out,,yes,,\n'

/** The sentence of the worked change of this name. */
function summaryOf(readme: string, name: string): RegExp {
  const [, rest = ''] = readme.split(`### ${name}\n`)
  const [, words = ''] = /The summary says: (.*)\.\n/.exec(rest) ?? []
  return new RegExp(`^### Rule table: ${words}`, 'm')
}

/** Returns the number of clicks. */
async function perform(page: Page, step: Step): Promise<number> {
  if ('press' in step && 'rule' in step) {
    await page.getByLabel(`rule, ${step.rule}`, { exact: true }).press(step.press)
    return 1
  }
  if ('press' in step) {
    await page
      .getByRole('button', { name: step.press, exact: true })
      .or(page.locator('summary', { hasText: step.press }))
      .first()
      .click()
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
  if ('above' in step)
    await page.getByLabel(`rule, ${step.above}`, { exact: true }).press('Control+Shift+Enter')
  let ruleId = 'rule' in step ? step.rule : 'unnamed rule'
  const cells =
    'row' in step ? Object.entries(step.row).filter(([, value]) => value !== '') : Object.entries(step.cells)
  for (const [column, value] of cells) {
    const cell = page.getByLabel(`${column}, ${ruleId}`, { exact: true })
    const isChoice = await cell.evaluate((element) => (element as { tagName?: string }).tagName === 'SELECT')
    await (isChoice ? cell.selectOption(value) : cell.fill(value))
    if (column === 'rule') ruleId = value
  }
  // The name of a new row has the focus at once.
  return cells.length
}
