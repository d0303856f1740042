import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { strFromU8, unzipSync } from 'fflate'
import type { Locator, Page } from 'playwright-core'
import t from 'tap'
import { readRuleFiles } from '../../src/app/rule-files.ts'
import { createWorkbench } from '../../src/app/workbench.ts'
import { loadRuleTable } from '../../src/core/rules/load-table.ts'
import { openPool } from '../../src/postgres/connection/pool.ts'
import { above, rule } from '../core/rules/build.ts'
import { DEFAULT_TABLE, describeThose } from '../core/rules/default-table.ts'
import { serveConsole } from '../http/console/fixture.ts'
import { record } from '../postgres/record.ts'
import { command } from '../service/command.ts'
import { createMigratedDatabase } from '../stack/databases.ts'
import { until } from '../stack/until.ts'
import { accessibilityFaults, openTab, startBrowser, type Tab, withoutBrowser } from './browser.ts'
import { HOSTILE } from './seed.ts'

if (withoutBrowser) t.plan(0, withoutBrowser)
else await testWorkbench()

async function testWorkbench(): Promise<void> {
  const [database, browser, ruleFiles] = await Promise.all([
    createMigratedDatabase(),
    startBrowser(),
    readRuleFiles(),
  ])
  const pool = await openPool({ databaseUrl: database.url, connectionCountMax: 1 })
  await record(pool, [
    { eventId: 'paid-1', eventType: 'invoice.paid' },
    { eventId: 'paid-2', eventType: 'invoice.paid' },
    { eventId: 'claim-paid' },
  ])
  const workbench = createWorkbench({ repositoryUrl: 'https://github.com/insurer/n' }, ruleFiles, () => pool)
  const http = serveConsole({ workbench })
  const url = await http.listen()
  t.teardown(async () => {
    await browser.close()
    await http.close()
    await pool.end()
    await database.drop()
  })

  const tab = await openTab(browser, url)
  async function openWorkbench(viewport?: { width: number; height: number }): Promise<Tab> {
    await tab.renew()
    if (viewport) await tab.page.setViewportSize(viewport)
    await tab.page.goto(`${url}/console#/workbench`)
    await verdict(tab.page, 'No faults')
    return tab
  }
  const readAfter = (input: { readonly parentElement: unknown }) =>
    (
      globalThis as unknown as { getComputedStyle: (of: unknown, part: string) => { content: string } }
    ).getComputedStyle(input.parentElement, '::after').content
  const verdict = (page: Page, words: string | RegExp) =>
    page.locator('.verdict').filter({ hasText: words }).waitFor()

  t.test('a rule is added, breaks a promise, is corrected, back-tested and downloaded', async (t) => {
    const tab = await openWorkbench({ width: 1280, height: 800 })
    const { page, complaints } = tab
    const situations = describeThose({ party: 'found' })
    const inApp = situations.filter((situation) => /, not opted out, prefers app message/.test(situation))
    await verdict(page, 'All 6 promises kept')
    await verdict(page, '0 situations change')
    await page.getByText('Nothing is changed yet.').waitFor()

    await page.getByRole('button', { name: 'actions for opted-out' }).click()
    await page.getByRole('button', { name: 'Add a rule above opted-out' }).click()
    const cell = (column: string, rule: string) => page.getByLabel(`${column}, ${rule}`, { exact: true })
    await page.getByText('This rule is blank: it is left out of the file.').waitFor()
    t.ok(await page.getByText('Nothing is changed yet.').isVisible(), 'a blank rule is not proposed')
    await cell('rule', 'unnamed rule').fill('muted')
    await cell('event type', 'muted').fill('claim.paid')
    await cell('party', 'muted').selectOption('found')
    await cell('event type', 'muted').fill('invoice')
    await verdict(page, '1 warning')
    await cell('event type', 'muted').fill('claim.paid')
    await cell('outcome', 'muted').selectOption('SKIP')
    await verdict(page, 'fault')
    await cell('reason', 'muted').focus()
    await page.getByText('is blank: say in a few words').waitFor()
    t.equal(await cell('reason', 'muted').getAttribute('aria-invalid'), 'true', 'the fault is at its cell')
    await cell('reason', 'muted').fill('muted')
    await cell('because', 'muted').fill('Nobody wants to hear it, they say.')

    await cell('opted out', 'opted-out').selectOption('no')
    await verdict(page, '1 promise of 6 broken')
    await page.getByText('opted out of" promises that nothing is sent').first().waitFor()
    await page.getByText('Change the rules; or, if you mean it, change the promise').waitFor()
    await cell('opted out', 'opted-out').selectOption('yes')
    await page
      .getByRole('region', { name: 'no longer sent' })
      .getByText(
        new RegExp(`^${inApp.length} situations change from SEND by app message .* for claim\\.paid`),
      )
      .waitFor()
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme })
      t.same(await accessibilityFaults(page), [], colorScheme)
    }
    await page.emulateMedia({ colorScheme: 'light' })

    const longer = 'not claim.review_required or invoice.finalised'
    await cell('event type', 'muted').fill(longer)
    const shown = await cell('event type', 'muted').evaluate(readAfter as never)
    t.equal(shown, `"${longer}" / ""`, 'a long text is whole where the focus is')
    for (const column of ['party', 'rule', 'reason']) {
      const box = await cell(column, 'muted').boundingBox()
      await page.mouse.click((box?.x ?? 0) + 5, (box?.y ?? 0) + (box?.height ?? 0) / 2)
      t.equal(
        await page.evaluate('document.activeElement.ariaLabel'),
        `${column}, muted`,
        'a click goes to its cell',
      )
    }
    await cell('event type', 'muted').fill('invoice')
    await verdict(page, '1 warning')
    await page.getByRole('button', { name: '1 warning' }).click()
    t.equal(await page.evaluate('document.activeElement.ariaLabel'), 'event type, muted')
    await page
      .getByText(
        'there is no template for "invoice", and no event of the last 30 days has it; did you mean "invoice.*"?',
      )
      .waitFor()
    await cell('event type', 'muted').fill('invoice.paid')
    await verdict(page, 'All 6 promises kept')
    await verdict(
      page,
      new RegExp(`${situations.length} situations change: \\d+ no longer sent, 0 newly sent, `),
    )

    await page.getByRole('button', { name: 'Back-test' }).click()
    const found = page.getByText('Of 3 events').filter({ hasText: '2 would have been decided differently' })
    await found.waitFor()
    const kind = page.getByRole('listitem').filter({ hasText: '2 no longer sent: invoice.paid 2' })
    const listed = page.getByRole('region', { name: 'Events decided differently' })
    t.equal(await listed.count(), 0, 'members are listed on demand')
    await kind.getByRole('button', { name: 'List the members: no longer sent' }).click()
    await listed.getByRole('row').nth(2).waitFor()
    const event = listed.getByRole('row').filter({ hasText: 'SKIP (muted), by rule "muted"' }).first()
    t.match(await event.innerText(), /party-1.*invoice\.paid.*SEND by email, by rule "email"/s)
    t.match(await event.getByRole('link').first().getAttribute('href'), /^#\/log\/NTF-/)
    const [events] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('button', { name: 'Download as CSV' }).click(),
    ])
    t.match(
      await readFile(await events.path(), 'utf8'),
      /^change,createdAt,partyLocator,.*\r\nno longer sent,20.*,party-1,invoice\.paid,SEND by email,SKIP \(muted\),email,muted,NTF-/,
    )

    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('button', { name: 'Download proposal.zip' }).click(),
    ])
    await page
      .getByText('rules/outcomes.txt, which lists every outcome and text, is among the files')
      .waitFor()
    const files = unzipSync(await readFile(await download.path()))
    t.same(Object.keys(files), ['rules/dispatch.csv', 'rules/outcomes.txt'])
    const outcomes = strFromU8(files['rules/outcomes.txt'] as Uint8Array)
    t.match(outcomes, 'SKIP (muted), rule "muted"', 'what the draft decides is accepted')
    const upload = page.getByRole('link', { name: 'Upload to the repository' })
    t.equal(await upload.getAttribute('href'), 'https://github.com/insurer/n/upload/main')
    t.match(
      await page.getByLabel('Text for the pull request').inputValue(),
      /^### Rule table: \d+ situations change: .*### Envelope map, promises and rules: 1 rule added\n\n- rule added: "muted"/s,
    )
    const csv = strFromU8(files['rules/dispatch.csv'] as Uint8Array)
    t.equal(
      csv,
      above('opted-out', [
        rule({
          ...{ rule: 'muted', eventType: 'invoice.paid', party: 'found', reason: 'muted' },
          because: 'Nobody wants to hear it, they say.',
        }),
      ]),
    )
    const file = join(t.testdir({}), 'dispatch.csv')
    await writeFile(file, csv)
    const { code, stderr } = await command(['rules', 'check', '--table', file], {})
    t.equal(code, 0, stderr)
    t.same(complaints, [])
  })

  t.test('40 rules are on two screens, one line each, and only the page scrolls', async (t) => {
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
    await page.getByText('Paste a CSV…').click()
    await page.getByLabel('Paste the whole of a dispatch.csv').fill(above('opted-out', rows))
    await page.getByRole('button', { name: 'Use this file' }).click()
    await verdict(page, '31 rules added')
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
      t.equal(heights.length, 40)
      t.same(
        heights.filter((height) => height > heightMax),
        [],
        `one line each, or a card of three, at ${width} px`,
      )
      const [table, bar] = [await box(page.locator('.grid table')), await box(page.locator('.verdict'))]
      t.ok(width < 1280 || table.height <= 1_600, `40 rules in ${table.height} px`)
      t.ok(bar.x >= table.right || bar.y >= table.bottom, 'the verdict is beside or below the table')
      t.same(await page.evaluate(INNER_SCROLLERS), [], 'nothing in the page scrolls')
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
    t.same(complaints, [])
  })

  t.test('the keyboard alone adds, moves and deletes a rule, and the focus goes with it', async (t) => {
    const { page, complaints } = await openWorkbench()
    const focused = () => page.evaluate('document.activeElement.ariaLabel')
    const rules = () =>
      page
        .locator('[aria-label^="rule, "]')
        .evaluateAll((cells) => cells.map((cell) => (cell as { value?: string }).value))
    const menu = page.getByRole('button', { name: 'actions for unresolved' })
    t.ok(((await menu.boundingBox())?.height ?? 0) >= 24, 'it is high enough to be hit')
    await menu.press('Enter')
    await page.keyboard.press('Escape')
    t.equal(await focused(), '2: actions for unresolved', 'a menu gives the focus back')
    await page.keyboard.press('Enter')
    await page.getByRole('button', { name: 'Add a rule below unresolved' }).press('Enter')
    t.equal(await focused(), 'rule, unnamed rule')
    await page.keyboard.type('mine')
    await page.keyboard.press('Alt+ArrowDown')
    t.equal(await focused(), 'rule, mine')
    t.same((await rules()).slice(0, 4), ['unresolved', 'party-not-found', 'mine', 'no-party'])
    await page.keyboard.press('Alt+ArrowUp')
    t.equal(await focused(), 'rule, mine')
    t.same((await rules()).slice(0, 3), ['unresolved', 'mine', 'party-not-found'])
    await page.getByLabel('event type, mine').focus()
    await page.keyboard.press('Enter')
    t.equal(await focused(), 'event type, party-not-found')
    await page.keyboard.press('Shift+Enter')
    await page.keyboard.press('Shift+Enter')
    t.equal(await focused(), 'event type, unresolved')
    await page.keyboard.press('Shift+Enter')
    t.equal(await focused(), 'event type, unresolved', 'there is none above the first')
    await page.getByLabel('outcome, in-app').focus()
    await page.keyboard.press('Enter')
    t.equal(await page.evaluate('document.activeElement.id'), 'rule-add')
    await page.getByLabel('rule, mine').press('Alt+Delete')
    t.equal(await focused(), 'rule, party-not-found')
    await page.keyboard.press('Control+z')
    t.ok((await rules()).includes('mine'))
    await page.keyboard.press('Control+Shift+Z')
    t.notOk((await rules()).includes('mine'), 'it is deleted again')
    await page.keyboard.press('Control+z')
    await page.keyboard.press('Control+y')
    t.notOk((await rules()).includes('mine'))
    await page.getByRole('button', { name: 'Undo' }).click()
    await page.getByLabel('rule, mine').press('Control+d')
    t.equal(await focused(), 'rule, mine-copy')
    await page.keyboard.press('Control+z')
    await page.reload()
    await verdict(page, /fault/)
    t.ok((await rules()).includes('mine'), 'a reload loses nothing')
    await page.getByRole('button', { name: 'Start over with dispatch.csv' }).click()
    await verdict(page, '0 situations change')
    t.same(complaints, [])
  })

  t.test('a file is pasted whole and stays text; one that cannot be split is refused', async (t) => {
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
    t.same(complaints, [])
  })

  t.test('a promise is changed and deleted in its file, and the change is undone', async (t) => {
    const { page } = await openWorkbench()
    const name = 'We never send a text message without a phone number'
    const file = page.getByLabel(/^Paste the whole of a promises\.csv/)
    const write = async (change: (csv: string) => string) => {
      await page.getByText('Edit or paste as a CSV…').click()
      await file.fill(change(await file.inputValue()))
      await page.getByRole('button', { name: 'Use this file' }).click()
    }
    await write((csv) => csv.replace('not by SMS', 'SEND'))
    await verdict(page, '1 promise of 6 broken')
    await page.getByText(`"${name}" promises SEND`).first().waitFor()
    await page.getByRole('button', { name: 'Start over with promises.csv' }).click()
    await verdict(page, 'All 6 promises kept')
    await write((csv) => csv.replace(new RegExp(`${name}.*\n`), ''))
    await verdict(page, 'All 5 promises kept')
    await verdict(page, '1 promise deleted')
    await page.getByText(`promise deleted: "${name}"`).waitFor()
    await page.getByRole('button', { name: 'Undo' }).click()
    await write((csv) => csv.replace(`${name},`, `${name},invoice.payed`))
    await verdict(page, 'All 6 promises kept')
    await verdict(page, '1 fault')
    const promises = page.getByRole('region', { name: 'Promises', exact: true })
    await page.getByText('there is no template for "invoice.payed"').first().waitFor()
    t.equal(await promises.getByText('Broken:').count(), 0)
    await promises.getByText('6 promises kept').waitFor()
  })

  t.test('a case is excluded from a broken promise, to which the verdict leads', async (t) => {
    const { page } = await openWorkbench()
    await page.getByLabel('event type, opted-out').fill('not claim.paid')
    const broken = page.getByRole('button', { name: '1 promise of 6 broken' })
    const proposal = page.getByRole('region', { name: 'Propose' })
    await proposal.getByText(/^1 promise of 6 broken\. /).waitFor()
    await proposal.getByText('First correct what is said above').waitFor()
    t.equal(
      await proposal.getByRole('button', { name: 'Download dispatch.csv' }).getAttribute('aria-disabled'),
      'false',
    )
    await broken.click()
    t.equal(await page.evaluate('document.activeElement.id'), 'broken')
    await page.getByRole('button', { name: 'Exclude this case' }).click()
    await verdict(page, 'All 6 promises kept')
    await verdict(page, '1 promise narrowed, 1 rule narrowed')
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

  t.test('a text is edited, another is new: both count in verdict, trial and proposal', async (t) => {
    const tab = await openWorkbench()
    const { page, complaints } = tab
    await page.getByRole('button', { name: 'Texts', exact: true }).click()
    await page.getByRole('combobox', { name: /^Text for/ }).selectOption('claim.paid.mustache')
    const text = page.getByLabel('templates/claim.paid.mustache')
    const preview = page.getByRole('region', { name: 'As members get it' })
    await preview.getByText('Text message').waitFor()
    const before = await text.inputValue()
    await text.fill(before.replace('{{locator}}', '{{lokator}}'))
    await page.getByText('"lokator" is not a variable').waitFor()
    await verdict(page, '1 fault')
    await page.getByRole('combobox', { name: /^Text for/ }).selectOption('claim.rejected.mustache')
    await preview.getByText('First correct the faults of claim.paid.mustache.').waitFor()
    await page.getByRole('button', { name: '1 fault', exact: true }).click()
    await text.and(page.locator(':focus')).waitFor()
    await text.fill(`${before}We paid “at once”.\n`)
    await verdict(page, '1 text differs')
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
    await verdict(page, '2 texts differ')
    await page.getByLabel('Event type', { exact: true }).fill('')
    await page.getByText('Enter an event type.').waitFor()
    await page.getByLabel('Event type', { exact: true }).fill('claim.reopened')
    await page.getByText('Claim CLM-2026-00056.').last().waitFor()
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme })
      t.same(await accessibilityFaults(page), [], colorScheme)
    }

    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('button', { name: 'Download proposal.zip' }).click(),
    ])
    const files = unzipSync(await readFile(await download.path()))
    t.same(Object.keys(files), [
      'templates/claim.paid.mustache',
      'templates/claim.reopened.mustache',
      'rules/outcomes.txt',
    ])
    t.equal(strFromU8(files['templates/claim.paid.mustache'] as Uint8Array), `${before}We paid “at once”.\n`)
    const upload = page.getByRole('link', { name: 'Upload to the repository' })
    t.equal(await upload.getAttribute('href'), 'https://github.com/insurer/n/upload/main')
    t.match(
      await page.getByLabel('Text for the pull request').inputValue(),
      /### Texts: 2 event types with another text.*claim.reopened: new, was the generic text/s,
    )
    t.same(complaints, [])
  })

  const look = (page: Page) => page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")

  t.test("a colleague's change is shown row by row, and merged or kept apart", async (t) => {
    const tab = await openWorkbench()
    const { page } = tab
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
    t.same(await accessibilityFaults(page), [])
    await page.getByText('Others have changed the files in force: first merge their changes').waitFor()
    await banner.getByRole('button', { name: 'Merge into my draft' }).click()
    await page.getByText('"no-phone", reason: "phone unknown" is yours, "no number" is in force').waitFor()
    await page.getByText('adjustment.applied.mustache: both changed this text; yours is kept').waitFor()
    t.match(await text.inputValue(), /Mine/)
    await page.getByRole('combobox', { name: /^Text for/ }).selectOption('claim.paid.mustache')
    t.match(await text.inputValue(), /Theirs\.\n$/)
    await page.getByRole('button', { name: 'Rules', exact: true }).click()
    t.equal(await banner.count(), 0)
    t.equal(await page.getByLabel('event type, colleague').inputValue(), 'claim.paid')
    t.equal(await page.getByLabel('reason, no-email').inputValue(), 'no address')
    t.equal(await page.getByLabel('because, in-app').inputValue(), 'They read in the app.')
    await page.getByRole('link', { name: 'Rules', exact: true }).click()
    await page.getByRole('link', { name: 'Try a change in the workbench' }).click()
    await page.getByRole('button', { name: 'Undo' }).click()
    t.equal(await page.getByLabel('event type, colleague').count(), 0, 'another view loses no undo')
    await banner.getByRole('button', { name: 'Keep my draft' }).click()
    await banner.waitFor({ state: 'hidden' })
    t.equal(await page.getByLabel('reason, no-email').inputValue(), 'no address')
    const proposal = page.getByLabel('Text for the pull request')
    const keepsTheirs = async () => /#### claim\.paid(?!.*claim\.reopened)/s.test(await proposal.inputValue())
    await until(keepsTheirs, { what: 'a proposal that leaves their new text alone' })
    await page.unroute('**/console/data/workbench')
    await look(page)
    await banner.getByRole('button', { name: 'Drop my draft' }).click()
    await banner.waitFor({ state: 'hidden' })
    t.equal(await page.getByLabel('reason, no-email').inputValue(), 'no email on file')
  })

  t.test('the workbench is read-only on a phone', async (t) => {
    const tab = await openWorkbench({ width: 375, height: 740 })
    const { page, complaints } = tab
    await page.getByText('On a phone the table can only be read.').waitFor()
    const rows = page.getByRole('region', { name: 'The rules' }).locator('tbody tr')
    t.equal(await rows.count(), loadRuleTable(DEFAULT_TABLE).length)
    t.equal(await page.locator('.grid, .backtest, .propose').count(), 0)
    await page.getByText('Good news: your claim').waitFor()
    t.equal(await page.evaluate('document.documentElement.scrollWidth'), 375)
    t.same(complaints, [])
  })

  t.test('a back-test shows why it stopped, ends with its view, and keeps its results', async (t) => {
    const { page } = await openWorkbench()
    const run = page.getByRole('button', { name: 'Back-test' })
    const detail = 'The database cannot be used now. Try again later.'
    await page.route('**/workbench/decisions?*', (route) =>
      route.fulfill({ status: 503, contentType: 'application/problem+json', json: { title: 'x', detail } }),
    )
    await run.click()
    await page.getByText(detail).waitFor()
    await page.unroute('**/workbench/decisions?*')
    await run.click()
    await page.getByText('Of 3 events').waitFor()
    t.equal(await page.getByText(detail).count(), 0)
    await page.getByRole('button', { name: 'Texts', exact: true }).click()
    await page.getByLabel('Event type without a text').fill('claim.reopened')
    await page.getByRole('button', { name: 'Add a text' }).click()
    await page.getByText('This result is for an earlier draft. Run it again.').waitFor()
    await page.getByRole('link', { name: 'Rules', exact: true }).click()
    await page.getByRole('link', { name: 'Try a change in the workbench' }).click()
    await page.getByText('Of 3 events').waitFor()
  })

  t.test('pages are asked for until there is none, or until someone stops it or leaves', async (t) => {
    const { page } = await openWorkbench()
    const run = page.getByRole('button', { name: 'Back-test' })
    const asked: (string | null)[] = []
    let askedCountMax = 3
    await page.route('**/workbench/decisions?*', async (route) => {
      asked.push(new URL(route.request().url()).searchParams.get('cursor'))
      // The page after that stays unanswered, as from a database that is busy.
      if (asked.length > askedCountMax) return
      const nextCursor = asked.length === 4 ? null : String(asked.length)
      await route.fulfill({ json: { events: 5_000, groups: [], nextCursor } })
    })
    const isAsked = (count: number) => until(() => asked.length === count, { what: `page ${count}` })
    const status = page.getByText('15,000 events decided again…')
    await run.click()
    await isAsked(4)
    await status.waitFor()
    t.same(asked, [null, '1', '2', '3'])
    await page.getByRole('button', { name: 'Stop' }).click()
    await status.waitFor({ state: 'detached' })
    t.equal(await page.locator('.notice-bad').count(), 0, 'it was stopped on purpose')

    asked.length = 0
    await run.click()
    await isAsked(4)
    const left = page.waitForEvent('requestfailed', (request) => request.url().includes('/decisions?'))
    await page.getByRole('link', { name: 'Rules', exact: true }).click()
    await left
    t.equal(asked.length, 4)

    asked.length = 0
    askedCountMax = 4
    await page.getByRole('link', { name: 'Try a change in the workbench' }).click()
    await verdict(page, 'No faults')
    await run.click()
    await page.getByText('Of 0 events').waitFor()
  })

  t.test('members come from the page on which their group was counted', async (t) => {
    const { page } = await openWorkbench()
    await page.getByLabel('event type, opted-out').fill('not claim.paid')
    await verdict(page, '1 rule narrowed')
    const facts = { eventType: 'claim.paid', party: 'found', optedOut: true, preferredChannel: 'EMAIL' }
    const skipped = {
      facts: { ...facts, emailOnFile: true, phoneOnFile: true },
      ...{ earlier: [], onRequest: false, ruleId: 'opted-out', outcome: 'SKIP', channel: 'EMAIL' },
      ...{ ruleTableRevision: 'unknown', invalidParty: false, locators: [] },
    }
    await page.route('**/workbench/decisions?*', (route) => {
      const isFirst = !route.request().url().includes('cursor=')
      const groups = [{ ...skipped, id: isFirst ? 'g1' : 'g2', count: 700 }]
      return route.fulfill({ json: { events: 700, groups, nextCursor: isFirst ? 'second' : null } })
    })
    await page.route('**/workbench/members?*', (route) => {
      const { searchParams } = new URL(route.request().url())
      const items = Array.from({ length: 700 }, (_, i) => ({
        locator: `NTF-${searchParams.get('group')}-${i}`,
        partyLocator: `${HOSTILE.partyLocator} ${searchParams.get('cursor')} ${i}`,
        createdAt: null,
      }))
      return route.fulfill({ json: { items } })
    })
    await page.getByRole('button', { name: 'Back-test' }).click()
    await page.getByText('Of 1,400 events').filter({ hasText: '1,400 would have been decided' }).waitFor()
    await page.getByRole('button', { name: 'List the members: newly sent' }).click()
    await page.getByText('The list and the CSV contain 1,000 of 1,400: ask for fewer days.').waitFor()
    await page.getByText('And 800 more in the CSV.').waitFor()
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('button', { name: 'Download as CSV' }).click(),
    ])
    const lines = (await readFile(await download.path(), 'utf8')).trim().split('\r\n')
    t.equal(lines.length, 1_001)
    t.match(lines[700], / null 699"?,claim\.paid,SKIP,SEND by email,opted-out,email,NTF-g1-699$/)
    t.match(lines[701], / second 0"?,claim\.paid,.*,NTF-g2-0$/)
    t.equal(await page.evaluate('typeof attacked'), 'undefined')
  })
}

const HEIGHTS_PX = (rows: unknown[]) => rows.map((row) => (row as { offsetHeight: number }).offsetHeight)
const SCROLL_INTO_VIEW = (element: unknown, block: string) =>
  (element as { scrollIntoView: (to: object) => void }).scrollIntoView({ block })
const INNER_SCROLLERS = `[...document.querySelectorAll('.grid, .grid *')].filter((element) =>
  !element.matches('input, select') && /auto|scroll/.test(getComputedStyle(element).overflow)
  && element.scrollHeight > element.clientHeight).map(({ className }) => className)`
