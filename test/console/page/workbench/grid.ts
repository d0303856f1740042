import type { Locator } from 'playwright-core'
import { loadRuleTable } from '../../../../src/service/decide/rules/load-table.ts'
import { above, rule } from '../../../authoring/build.ts'
import { DEFAULT_TABLE } from '../../../authoring/default-table.ts'
import { until } from '../../../stack/until.ts'
import { test } from '../browser.ts'
import { openWorkbench, pasteRules, waitForVerdict } from '../open-workbench.ts'

test('40 rules are on two screens, one line each, and only the page scrolls', async (t) => {
  const { page, complaints } = await openWorkbench({ width: 1280, height: 800 })
  const rows = Array.from({ length: 31 }, (_, at) =>
    rule({
      ...{
        rule: `muted-${at}`,
        eventType: `exactly claim.reviewed_by_${at} or exactly claim.moved_by_${at}`,
      },
      ...{ party: 'found', because: `Members found the news number ${at} superfluous, so nobody is told.` },
    }),
  )
  await pasteRules(page, above('opted-out', rows))
  await waitForVerdict(page, '31 rules added')
  const box = async (element: Locator) => {
    const { x, y, width, height } = (await element.boundingBox()) ?? { x: 0, y: 0, width: 0, height: 0 }
    return { x, y, right: x + width, bottom: y + height, height }
  }
  for (const [width, heightMax] of [
    [1280, 40],
    [1200, 40],
    [900, 150],
    [640, 150],
  ] as const) {
    await page.setViewportSize({ width, height: width === 640 ? 400 : 800 })
    const heights = await page.locator('.grid tbody tr').evaluateAll(HEIGHTS_PX)
    t.equal(heights.length, rows.length + loadRuleTable(DEFAULT_TABLE).length)
    t.strictSame(
      heights.filter((height) => height > heightMax),
      [],
      `one line each, or a card of three, at ${width} px`,
    )
    const [table, bar] = [await box(page.locator('.grid table')), await box(page.locator('.verdict'))]
    t.ok(width < 1280 || table.height <= 40 * heights.length, `${heights.length} rules in ${table.height} px`)
    t.ok(bar.x >= table.right || bar.y >= table.bottom, 'the verdict is beside or below the table')
    t.strictSame(await page.evaluate(INNER_SCROLLERS), [], 'nothing in the page scrolls')
  }
  const isInView = async (element: Locator) => {
    const { x, y, right, bottom } = await box(element)
    return x >= 0 && y >= 0 && right <= 640 && bottom <= 400
  }
  const last = page.getByLabel('because, muted-30', { exact: true })
  await last.fill('')
  await page.evaluate('scrollTo(0, 0)')
  await page.getByRole('button', { name: '1 fault' }).click()
  const said = page.getByText('is blank: say in one sentence')
  await said.waitFor()
  t.ok(await isInView(said), 'the text of the fault is in view')
  const button = page.getByRole('button', { name: 'actions for in-app' })
  for (const block of ['start', 'center', 'end'] as const) {
    await button.evaluate(SCROLL_INTO_VIEW, block)
    await button.press('Enter')
    t.ok(await isInView(page.locator('.menu:popover-open')), `the menu of the last row, at the ${block}`)
    await page.keyboard.press('Escape')
  }
  await page.getByLabel('rule, in-app', { exact: true }).press('Control+Enter')
  const width = async () => page.evaluate('document.documentElement.scrollWidth')
  for (let wide = 390; wide <= 1280; wide += 89) {
    await page.setViewportSize({ width: wide, height: 800 })
    await until(async () => (await width()) === wide, { what: `no sideways scrolling at ${wide} px` })
  }
  t.strictSame(complaints, [])
})

test('a long text is whole where the focus is, and a click goes to its own cell', async (t) => {
  const { page } = await openWorkbench({ width: 1280, height: 800 })
  const eventType = 'not claim.review_required or invoice.finalised'
  const cell = (column: string) => page.getByLabel(`${column}, opted-out`, { exact: true })
  await cell('event type').fill(eventType)
  t.equal(await cell('event type').evaluate(TEXT_BESIDE as never), `"${eventType}" / ""`)
  for (const column of ['party', 'rule', 'reason']) {
    const { x, y, height } = (await cell(column).boundingBox()) ?? { x: 0, y: 0, height: 0 }
    await page.mouse.click(x + 5, y + height / 2)
    t.equal(await page.evaluate('document.activeElement.ariaLabel'), `${column}, opted-out`)
  }
})

test('the workbench is read-only on a phone', async (t) => {
  const { page, complaints } = await openWorkbench({ width: 375, height: 740 })
  await page.getByText('On a phone the table can only be read.').waitFor()
  const rows = page.getByRole('region', { name: 'The rules' }).locator('tbody tr')
  t.equal(await rows.count(), loadRuleTable(DEFAULT_TABLE).length)
  t.equal(await page.locator('.grid, .period, .propose').count(), 0)
  await page.getByText('Good news: your claim').waitFor()
  t.equal(await page.evaluate('document.documentElement.scrollWidth'), 375)
  t.strictSame(complaints, [])
})

/** The text that is laid over the cells beside a focused one. */
const TEXT_BESIDE = (input: { readonly parentElement: unknown }) =>
  (
    globalThis as unknown as { getComputedStyle: (of: unknown, part: string) => { content: string } }
  ).getComputedStyle(input.parentElement, '::after').content
const HEIGHTS_PX = (rows: unknown[]) => rows.map((row) => (row as { offsetHeight: number }).offsetHeight)
const SCROLL_INTO_VIEW = (element: unknown, block: string) =>
  (element as { scrollIntoView: (to: object) => void }).scrollIntoView({ block })
const INNER_SCROLLERS = `[...document.querySelectorAll('.grid, .grid *')].filter((element) =>
  !element.matches('input, select') && /auto|scroll/.test(getComputedStyle(element).overflow)
  && element.scrollHeight > element.clientHeight).map(({ className }) => className)`

test('two rules with one id are both marked, since either may be the new one', async (t) => {
  const { page } = await openWorkbench()
  await pasteRules(
    page,
    above('opted-out', [
      rule({
        rule: 'no-email',
        eventType: 'invoice.paid',
        party: 'found',
        reason: 'muted',
        because: 'They say so.',
      }),
    ]),
  )
  await waitForVerdict(page, '1 fault')
  const marked = page.locator('.grid [aria-invalid="true"]')
  await until(async () => (await marked.count()) === 2, { what: 'both ids to be marked' })
  for (const cell of await marked.all()) t.equal(await cell.inputValue(), 'no-email')
  t.equal(await page.getByText('has this id, too: give each rule an id of its own').count(), 1)
})
