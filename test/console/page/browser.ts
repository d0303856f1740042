import { readFile } from 'node:fs/promises'
import axe from 'axe-core'
import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core'
import t, { type Test } from 'tap'
import { CHROMIUM } from '../../stack/chromium.ts'
import { until } from '../../stack/until.ts'

/** The reason to skip these tests, or false if there is a browser. */
export const withoutBrowser = CHROMIUM
  ? (false as const)
  : 'Chromium is not installed: set CHROMIUM to its path'

/** A headless Chromium with a new profile. */
export function startBrowser(): Promise<Browser> {
  return chromium.launch({
    executablePath: CHROMIUM,
    args: [
      '--headless=new',
      ...(process.getuid?.() === 0 ? ['--no-sandbox'] : []),
      '--disable-gpu',
      '--disable-quic',
      '--no-first-run',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
    ],
  })
}

/** A page with its complaints: errors, warnings, violations of its policy, failed requests and requests to other origins. */
export interface Tab {
  readonly page: Page
  readonly complaints: string[]
  /** Resets the page as if it were new, for this origin or the one before. A new one would take Chromium two processes. */
  renew(origin?: string): Promise<void>
  close(): Promise<void>
}

const VIEWPORT = { width: 1280, height: 860 }

/** Opens a page in a new context, without stored data. */
export async function openTab(
  browser: Browser,
  origin: string,
  options: BrowserContextOptions = {},
): Promise<Tab> {
  const context = await browser.newContext({
    viewport: VIEWPORT,
    timezoneId: 'Europe/Zurich',
    locale: 'en-GB',
    ...options,
  })
  const page = await context.newPage()
  page.setDefaultTimeout(30_000)
  const complaints: string[] = []
  let expectedOrigin = origin
  page.on('console', (message) => {
    if (['error', 'warning'].includes(message.type())) complaints.push(`console: ${message.text()}`)
  })
  page.on('pageerror', (error) => complaints.push(`error: ${error.message}`))
  page.on('dialog', (dialog) => {
    complaints.push(`dialog: ${dialog.message()}`)
    void dialog.dismiss()
  })
  page.on('request', (request) => {
    if (!request.url().startsWith(`${expectedOrigin}/`) && !request.url().startsWith('blob:')) {
      complaints.push(`request elsewhere: ${request.url()}`)
    }
  })
  page.on('response', (response) => {
    if (response.status() >= 400) complaints.push(`${response.status()}: ${response.url()}`)
  })
  page.on('requestfailed', (request) => {
    // Requests aborted when a view is left.
    if (request.failure()?.errorText !== 'net::ERR_ABORTED')
      complaints.push(`request failed: ${request.url()}`)
  })
  return {
    page,
    complaints,
    renew: async (nextOrigin = expectedOrigin) => {
      await page.unrouteAll({ behavior: 'ignoreErrors' })
      if (page.url().startsWith('http')) await page.evaluate('sessionStorage.clear()')
      await page.goto('about:blank')
      await page.setViewportSize(VIEWPORT)
      await page.emulateMedia({ colorScheme: null })
      complaints.length = 0
      expectedOrigin = nextOrigin
    },
    close: () => context.close(),
  }
}

let shared: Promise<Tab> | undefined

/** The one tab of all tests of a process, as if it were new: a browser takes seconds to start. */
export async function sharedTab(origin: string): Promise<Tab> {
  shared ??= startBrowser().then((browser) => {
    t.teardown(() => browser.close())
    return openTab(browser, origin)
  })
  const tab = await shared
  await tab.renew(origin)
  return tab
}

/** A top-level test that is skipped without a browser. */
export const test = (name: string, run: (t: Test) => Promise<void>) =>
  t.test(name, { skip: withoutBrowser }, run)

/** Clicks the button of this name. Returns the file that it saves. */
export async function download(page: Page, button: string | RegExp) {
  const [saved] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('button', { name: button }).click(),
  ])
  return { name: saved.suggestedFilename(), content: await readFile(await saved.path()) }
}

/** The rules that another colour scheme can break. */
const COLOUR_RULES = ['color-contrast', 'link-in-text-block']

/** Violations found by axe, as text; `coloursOnly` checks contrast alone. */
export async function accessibilityFaults(page: Page, { coloursOnly = false } = {}): Promise<string[]> {
  await page.evaluate(axe.source)
  const options = { resultTypes: ['violations'], ...(coloursOnly && { runOnly: COLOUR_RULES }) }
  const { violations } = (await page.evaluate(`axe.run(${JSON.stringify(options)})`)) as axe.AxeResults
  return violations.map(
    ({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html.slice(0, 120)).join(' | ')}`,
  )
}

/** Elements wider than their place. */
const CUT_OFF = `[...document.querySelectorAll('body, body *')]
  .filter((element) => element.scrollWidth > element.clientWidth + 1 && !element.matches('.skip'))
  .filter((element) => element.clientWidth > 0 && getComputedStyle(element).display !== 'inline')
  .map((element) => element.tagName + '.' + element.className)`

/**
 * Waits until no element is cut off and the page does not scroll sideways. Charts and the workbench follow a resized window
 * a moment later. Rejects with the elements that are cut off.
 */
export async function waitUntilItFits(page: Page): Promise<void> {
  const fits = async () => {
    const cutOff = await page.evaluate(CUT_OFF)
    if (String(cutOff) !== '') throw new Error(`cut off: ${cutOff}`)
    return (await page.evaluate('document.documentElement.scrollWidth')) === page.viewportSize()?.width
  }
  await until(fits, { what: 'the page to be no wider than its window', timeoutMs: 10_000 })
}
