import type { Page } from 'playwright-core'
import t from 'tap'
import { ADMIN_SCOPE, AUDIENCE, startIdentityProvider } from '../../stack/identity-provider.ts'
import { until } from '../../stack/until.ts'
import { createWorld } from '../../stack/world.ts'
import {
  accessibilityFaults,
  openTab,
  startBrowser,
  type Tab,
  waitUntilItFits,
  withoutBrowser,
} from './browser.ts'
import { HOSTILE, seed } from './seed.ts'

if (withoutBrowser) t.plan(0, withoutBrowser)
else await testConsole()

async function testConsole(): Promise<void> {
  const [world, idp, browser] = await Promise.all([
    createWorld({ partitionCount: 1 }),
    startIdentityProvider(),
    startBrowser(),
  ])
  t.teardown(() => Promise.all([browser.close(), world.close(), idp.stop()]))
  const service = await world.serve({
    MANAGEMENT_PORT: '0',
    IDP_JWKS_URI: idp.keySetUrl,
    IDP_ISSUER: idp.issuer,
    IDP_AUDIENCE: AUDIENCE,
    IDP_ADMIN_SCOPE: ADMIN_SCOPE,
  })
  const url = String((await service.logged(/^the management listener is up$/)).url)
  const admin = await idp.token(ADMIN_SCOPE)
  await seed(world, service.url, `Bearer ${admin}`)
  const locatorOf = async (eventId: string): Promise<string> =>
    (await world.sql('SELECT locator FROM notifications.notification_log WHERE event_id = $1', [eventId]))[0]
      ?.locator

  const tab = await openTab(browser, url, { reducedMotion: 'reduce' })
  await tab.page.addInitScript((held) => sessionStorage.setItem('notifications-token', held), admin)

  /** The tab of an administrator who has pasted a token. */
  async function adminTab(): Promise<Tab> {
    await tab.renew()
    return tab
  }
  const openFilters = (page: Page) => page.getByText('Filters').click()
  const title = (page: Page, name: string | RegExp) => page.getByRole('heading', { level: 1, name }).waitFor()

  t.test("an agent's five questions are answered", async (t) => {
    const { page, complaints } = await adminTab()
    const search = async (words: string) => {
      await page.getByRole('combobox').fill(words)
      await page.keyboard.press('Enter')
    }
    const why = page.getByRole('region', { name: 'What happened' })
    const ask = async (question: string, answer: () => Promise<RegExp>) => {
      t.comment(question)
      await page.goto(`${url}/console#/rules`)
      await page.goto(`${url}/console`)
      const expected = await answer()
      await page.locator('main').filter({ hasText: expected }).waitFor()
    }
    await ask('Why was this member not told of the policy?', async () => {
      await page.getByRole('link', { name: 'Not told' }).click()
      await listed(page, 'unknown-1').getByRole('link').first().click()
      await why.waitFor()
      t.match(
        await why.innerText(),
        /Member unknown-1 got no message about CLM-1 \(policy\.issued\)\. The event was processed on \d+ \w+ \d{4}, \d\d:\d\d\./,
      )
      return /Policy administration does not know the member, so there is nobody to write to\./
    })
    await ask('I got no message about my claim <b>CLM</b>', async () => {
      await search('<b>CLM</b>')
      await why.waitFor()
      return /the email “.*” about <b>CLM<\/b> for member party-8 was recorded/
    })
    await ask('Did I opt out, and when?', async () => {
      await search('party-7')
      return /Opted out of claim\.paid/
    })
    await ask('What becomes of the message that could not be sent?', async () => {
      await search('given-up')
      await why.waitFor()
      return /Next: /
    })
    await ask('Who was not told in the last 30 days, for want of an address?', async () => {
      await page.getByRole('link', { name: 'Not told' }).click()
      await page.getByRole('link', { name: 'Last 30 days' }).click()
      await page.waitForURL(/from=30d/)
      return /no-email-1[\s\S]*but we have no email address for them/
    })
    t.strictSame(complaints, [])
  })

  const VIEWS: readonly [name: string, path: () => string | Promise<string>, title: string | RegExp][] = [
    ['overview', () => '#/', 'Overview'],
    ['not-told', () => '#/log?notTold=true', 'Not told'],
    ['log', () => '#/log', 'Log'],
    ['entry-sent', async () => `#/log/${await locatorOf('hostile-2')}`, / for /],
    ['entry-skipped', async () => `#/log/${await locatorOf('opted-out')}`, / for /],
    ['entry-failed', async () => `#/log/${await locatorOf('given-up')}`, / for /],
    ['party', () => '#/parties/party-7', 'Member party-7'],
    ['rejected', () => '#/rejected', 'Unreadable messages'],
    ['rules', () => '#/rules', 'Rules'],
    ['workbench', () => '#/workbench', 'Workbench'],
    ['nothing', () => '#/nowhere', 'Page not found'],
  ]

  const WITH_TABLES = ['rules']

  for (const [name, path, heading] of VIEWS) {
    t.test(`${name}: the view is accessible, logs no error, and fits a phone`, async (t) => {
      const tab = await adminTab()
      await tab.page.goto(`${url}/console${await path()}`)
      await title(tab.page, heading)
      await settled(tab.page)
      for (const [width, height] of [
        [1280, 860],
        [390, 844],
      ] as const) {
        await tab.page.setViewportSize({ width, height })
        // The workbench cuts long cells.
        if (name !== 'workbench' || width < 1_000) await waitUntilItFits(tab.page)
        t.strictSame(await accessibilityFaults(tab.page), [], `${width} px`)
      }
      await tab.page.emulateMedia({ colorScheme: 'dark' })
      t.strictSame(await accessibilityFaults(tab.page, { coloursOnly: true }), [], 'dark')
      if (WITH_TABLES.includes(name)) t.match(await tab.page.evaluate(NAME_OF_FIRST_CELL), '"Rule"')
      t.strictSame(tab.complaints, [])
    })
  }

  t.test('the workbench notices a window that became narrow while it was loading', async (t) => {
    const { page, close } = await openTab(browser, url)
    t.teardown(close)
    await page.addInitScript((held) => sessionStorage.setItem('notifications-token', held), admin)
    await page.addInitScript(WIDE_AT_FIRST)
    await page.setViewportSize({ width: 390, height: 844 })
    await page.goto(`${url}/console#/workbench`)
    await page.getByText('On a phone the table can only be read.').waitFor()
  })

  t.test('the keyboard alone operates the console, and the focus is always visible', async (t) => {
    const { page, complaints } = await adminTab()
    const focused = () =>
      page.evaluate(`(() => {
        const { tagName, innerText = '' } = document.activeElement
        return tagName + ' ' + innerText.trim()
      })()`)
    const tabTo = async (wanted: RegExp) => {
      for (let count = 0; count < 60; count++) {
        await page.keyboard.press('Tab')
        const outline = await page.evaluate('getComputedStyle(document.activeElement).outlineStyle')
        const radio = await page.evaluate('document.activeElement.type === "radio"')
        if (outline === 'none' && !radio) t.fail(`${await focused()} does not show the focus`)
        if (wanted.test(String(await focused()))) return
      }
      t.fail(`no way by Tab to ${wanted}`)
    }
    await page.goto(`${url}/console`)
    await title(page, 'Overview')
    await settled(page)
    await tabTo(/^BUTTON Skip to content$/)
    await page.keyboard.press('Enter')
    t.equal(await page.evaluate('document.activeElement.id'), 'main')
    await page.reload()
    await title(page, 'Overview')
    await settled(page)
    await tabTo(/^A Not told$/)
    await page.keyboard.press('Enter')
    await title(page, 'Not told')
    await until(async () => (await focused()) === 'H1 Not told', { what: 'the title to have the focus' })
    await listed(page, 'unknown-1').waitFor()
    await tabTo(/^A (just now|\d+ (min|h|days?) ago)$/)
    await page.keyboard.press('Enter')
    await title(page, / for /)
    await until(async () => /^H1 .* for /.test(String(await focused())), {
      what: 'the title to have the focus',
    })
    t.match(await page.title(), / for .* – Notifications console$/)
    await page.goBack()
    await title(page, 'Not told')
    t.strictSame(complaints, [])
  })

  t.test('the console requests a token, explains its refusal, and keeps it in that tab only', async (t) => {
    const tab = await openTab(browser, url)
    t.teardown(() => tab.close())
    const { page } = tab
    const paste = async (token: string) => {
      await page.getByLabel('Token', { exact: true }).fill(token)
      await page.getByRole('button', { name: 'Continue' }).click()
    }
    const said = (words: string) => page.getByRole('alert').filter({ hasText: words }).waitFor()
    await page.goto(`${url}/console#/rules`)
    await title(page, 'Enter a token')
    await said('Only administrators may see member data')
    t.strictSame(await accessibilityFaults(page), [])
    await paste('two words')
    await said('This is not a token')
    await paste('abc.def.ghi')
    await said('The token is not valid.')
    await paste(await idp.forge({ exp: 1 }))
    await said('The token has expired.')
    await paste(await idp.token())
    await said(`The token needs ${ADMIN_SCOPE} in its claim scope.`)
    await paste(`Bearer ${admin}`)
    await title(page, 'Rules')
    await page.reload()
    await title(page, 'Rules')
    t.equal(await page.evaluate('localStorage.length + document.cookie.length'), 0)
    const other = await page.context().newPage()
    await other.goto(`${url}/console`)
    await title(other, 'Enter a token')
    await page.getByRole('button', { name: 'Remove token' }).click()
    await said('The token was removed from this tab.')
    t.equal(await page.evaluate('sessionStorage.length'), 0)
    t.strictSame(
      tab.complaints.filter((complaint) => !/40[13]/.test(complaint)),
      [],
      'nothing but the refusals themselves',
    )
  })

  t.test('texts of members and producers are shown, never run, and cannot hide', async (t) => {
    const { page, complaints } = await adminTab()
    const hostile = await locatorOf('hostile-1')
    for (const path of [
      '#/',
      '#/log',
      `#/log?eventType=${encodeURIComponent(HOSTILE.eventType)}`,
      `#/log/${hostile}`,
      `#/log/${await locatorOf('hostile-2')}`,
      `#/parties/${encodeURIComponent(HOSTILE.partyLocator)}`,
      `#/${encodeURIComponent(HOSTILE.eventType)}`,
      '#/rejected',
      '#/log?notTold=true&nothing=1',
    ]) {
      await page.goto(`${url}/console${path}`)
      await page.getByRole('heading', { level: 1 }).waitFor()
      await settled(page)
      t.equal(await page.evaluate('typeof attacked'), 'undefined', path)
      t.equal(await page.locator('main img, main script, main svg, main iframe').count(), 0, path)
      t.notMatch(await page.locator('main').innerText(), /\u202E/, path)
    }
    await page.goto(`${url}/console#/log/${hostile}`)
    await page.getByText(HOSTILE.eventType).first().waitFor()
    await page.getByText('party-[U+202E]gpj.<script>').first().waitFor()
    t.strictSame(complaints, [])
  })

  t.test('a late response for the previous list is not shown in the next one', async () => {
    const { page } = await adminTab()
    const left = Promise.withResolvers<void>()
    await page.route(/log\/list\?limit/, async (route) => {
      await left.promise
      await route.continue()
    })
    await page.goto(`${url}/console#/log`)
    const ended = Promise.race([
      page.waitForEvent('requestfailed', (request) => request.url().includes('list?limit')),
      page.waitForResponse(/list\?limit/),
    ])
    await openFilters(page)
    await page.getByLabel('Event type').fill('invoice.overdue')
    await page.getByRole('button', { name: 'Search' }).click()
    await page.getByRole('row', { name: 'no-email-1' }).waitFor()
    left.resolve()
    await ended
    await page.evaluate('new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))')
    await page
      .getByRole('status')
      .filter({ hasText: /^1 entry$/ })
      .waitFor()
  })
}

/** On a phone each value has its column name. */
const NAME_OF_FIRST_CELL = `getComputedStyle(document.querySelector('td'), '::before').content`

/** The first reading of a media query is from before the window became narrow, which nobody heard. */
const WIDE_AT_FIRST = `{
  const { get } = Object.getOwnPropertyDescriptor(MediaQueryList.prototype, 'matches')
  let isRead = false
  Object.defineProperty(MediaQueryList.prototype, 'matches', {
    get() {
      const isNarrow = isRead && get.call(this)
      isRead = true
      return isNarrow
    },
  })
}`

/** The row of a member among those who were not told. */
function listed(page: Page, party: string) {
  return page.getByRole('region', { name: 'Log entries' }).getByRole('row', { name: party })
}

/** Waits until the data of a view has arrived. */
async function settled(page: Page): Promise<void> {
  await page.getByText('Loading…').first().waitFor({ state: 'hidden' })
}
