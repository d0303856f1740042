import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { parse } from 'csv-parse/sync'
import { strFromU8, unzipSync } from 'fflate'
import { above, rule } from '../../../authoring/build.ts'
import { describeThose, PROMISE_COUNT } from '../../../authoring/default-table.ts'
import { command } from '../../../process/command.ts'
import { accessibilityFaults, download, test } from '../browser.ts'
import { openWorkbench, pasteRules, waitForVerdict } from '../open-workbench.ts'

const MUTED = {
  rule: 'muted',
  party: 'found',
  reason: 'muted',
  because: 'Nobody wants to hear it, they say.',
}

test('a rule is added cell by cell, and proposed in a file that the command line accepts', async (t) => {
  const { page, complaints } = await openWorkbench()
  await waitForVerdict(page, `All ${PROMISE_COUNT} promises kept`)
  await waitForVerdict(page, '0 situations change')
  await page.getByText('Nothing is changed yet.').waitFor()
  await page.getByRole('button', { name: 'actions for opted-out' }).click()
  await page.getByRole('button', { name: 'Add a rule above opted-out' }).click()
  const cell = (column: string, rule: string) => page.getByLabel(`${column}, ${rule}`, { exact: true })
  await page.getByText('This rule is blank: it is left out of the file.').waitFor()
  t.ok(await page.getByText('Nothing is changed yet.').isVisible(), 'a blank rule is not proposed')
  await cell('rule', 'unnamed rule').fill('muted')
  await cell('party', 'muted').selectOption('found')
  await cell('event type', 'muted').fill('invoice')
  await waitForVerdict(page, '1 warning')
  await cell('event type', 'muted').fill('invoice.paid')
  await cell('outcome', 'muted').selectOption('SKIP')
  await waitForVerdict(page, 'fault')
  await cell('reason', 'muted').focus()
  await page.getByText('is blank: say in a few words').waitFor()
  t.equal(await cell('reason', 'muted').getAttribute('aria-invalid'), 'true', 'the fault is at its cell')
  await cell('reason', 'muted').fill(MUTED.reason)
  await cell('because', 'muted').fill(MUTED.because)
  await waitForVerdict(page, `All ${PROMISE_COUNT} promises kept`)

  const files = unzipSync((await download(page, 'Download proposal.zip')).content)
  await page.getByText('rules/outcomes.txt, which lists every outcome and text, is among the files').waitFor()
  t.strictSame(Object.keys(files), ['rules/dispatch.csv', 'rules/outcomes.txt'])
  const outcomes = strFromU8(files['rules/outcomes.txt'] as Uint8Array)
  t.match(outcomes, 'SKIP (muted), rule "muted"', 'what the draft decides is accepted')
  const upload = page.getByRole('link', { name: 'Upload to the repository' })
  t.equal(await upload.getAttribute('href'), 'https://github.com/insurer/n/upload/main')
  t.match(
    await page.getByLabel('Text for the pull request').inputValue(),
    /^### Rule table: \d+ situations change: .*### Promises and rules: 1 rule added\n\n- rule added: "muted"/s,
  )
  const csv = strFromU8(files['rules/dispatch.csv'] as Uint8Array)
  t.equal(csv, above('opted-out', [rule({ ...MUTED, eventType: 'invoice.paid' })]))
  const file = join(t.testdir({}), 'dispatch.csv')
  await writeFile(file, csv)
  const { code, stderr } = await command(['rules', 'check', '--table', file], {})
  t.equal(code, 0, stderr)
  t.strictSame(complaints, [])
})

test('a changed file keeps the order of its columns', async (t) => {
  const { page, workbench } = await openWorkbench()
  const start = await workbench.start()
  const rows: string[][] = parse(start.table)
  const table = rows
    .map((row) =>
      row
        .toReversed()
        .map((cell) => JSON.stringify(cell))
        .join(),
    )
    .join('\n')
  await page.route('**/console/data/workbench', (route) => route.fulfill({ json: { ...start, table } }))
  await page.reload()
  await waitForVerdict(page, `All ${PROMISE_COUNT} promises kept`)
  await page.getByLabel('rule, no-email', { exact: true }).fill('without-email')
  await waitForVerdict(page, /situations? change/)
  const { name, content } = await download(page, /^Download (dispatch\.csv|proposal\.zip)/)
  const csv = name === 'dispatch.csv' ? content : unzipSync(content)['rules/dispatch.csv']
  t.equal(strFromU8(csv as Uint8Array).split('\n')[0], rows[0]?.toReversed().join())
})

test('what changes is said by situations, and a broken promise with its remedy', async (t) => {
  const { page } = await openWorkbench()
  const situations = describeThose({ party: 'found' })
  const inApp = situations.filter((situation) => /, not opted out, prefers app message/.test(situation))
  await pasteRules(page, above('opted-out', [rule({ ...MUTED, eventType: 'claim.paid' })]))
  await waitForVerdict(page, `All ${PROMISE_COUNT} promises kept`)
  await waitForVerdict(
    page,
    new RegExp(`${situations.length} situations change: \\d+ no longer sent, 0 newly sent, `),
  )
  const optedOut = page.getByLabel('opted out, opted-out', { exact: true })
  await optedOut.selectOption('no')
  await waitForVerdict(page, `1 promise of ${PROMISE_COUNT} broken`)
  await page.getByText('opted out of" promises that nothing is sent').first().waitFor()
  await page.getByText('Change the rules; or, if you mean it, change the promise').waitFor()
  await optedOut.selectOption('yes')
  await page
    .getByRole('region', { name: 'no longer sent' })
    .getByText(new RegExp(`^${inApp.length} situations change from SEND by app message .* for claim\\.paid`))
    .waitFor()
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme })
    t.strictSame(await accessibilityFaults(page), [], colorScheme)
  }
})

test('an unknown event type is a warning, to which the verdict leads', async (t) => {
  const { page } = await openWorkbench()
  await pasteRules(page, above('opted-out', [rule({ ...MUTED, eventType: 'invoice' })]))
  await page.getByRole('button', { name: '1 warning' }).click()
  t.equal(await page.evaluate('document.activeElement.ariaLabel'), 'event type, muted')
  await page
    .getByText(
      'there is no template for "invoice", and no event of the last 30 days has it; did you mean "invoice.*"?',
    )
    .waitFor()
})

test('a row that the table does not need is taken out by one click', async (t) => {
  const { page, complaints } = await openWorkbench()
  await pasteRules(
    page,
    above('opted-out', [
      rule({ ...MUTED, eventType: 'claim.paid' }),
      rule({ ...MUTED, rule: 'two', eventType: 'invoice.paid' }),
    ]),
  )
  await page.getByText('rules "muted" and "two" could be one').waitFor()
  await page.getByRole('button', { name: 'Shorten' }).click()
  await page.getByText('could be one').waitFor({ state: 'detached' })
  await waitForVerdict(page, `All ${PROMISE_COUNT} promises kept`)
  t.equal(
    await page.getByLabel('event type, muted', { exact: true }).inputValue(),
    'claim.paid or invoice.paid',
  )
  t.strictSame(await accessibilityFaults(page), [])
  t.strictSame(complaints, [])
})

test('every choice of a cell is shown whole on a screen of 1,280 pixels', async (t) => {
  const { page } = await openWorkbench()
  // 30 pixels are the arrow and its room.
  const cut =
    await page.evaluate(`[...document.querySelectorAll('.grid tbody tr:first-child select')].flatMap((select) => {
    const ruler = document.createElement('canvas').getContext('2d')
    ruler.font = getComputedStyle(select).font
    const words = [...select.options].map(({ text }) => text)
    return words.filter((text) => ruler.measureText(text).width + 30 > select.clientWidth)
  })`)
  t.strictSame(cut, [])
})
