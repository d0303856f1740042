import { existsSync } from 'node:fs'
import { mkdir } from 'node:fs/promises'
import axe from 'axe-core'
import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core'
import { until } from '../stack/until.ts'

const EXECUTABLE = process.env.CHROMIUM || '/usr/bin/chromium'

/** Why there is no browser to test with; false where there is one. */
export const withoutBrowser = existsSync(EXECUTABLE)
  ? (false as const)
  : `there is no Chromium at ${EXECUTABLE}: install the system's package, or set CHROMIUM`

/** Where screenshots are kept, to be looked at. */
const SCREENSHOTS = new URL('../../.cache/screenshots/', import.meta.url)

/** A Chromium without a window and with a profile of its own. */
export function startBrowser(): Promise<Browser> {
  return chromium.launch({
    executablePath: EXECUTABLE,
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

/** A tab, with all that it complains of: errors, warnings, what its policy refuses, requests that fail or go elsewhere. */
export interface Tab {
  readonly page: Page
  readonly complaints: string[]
  /** Keeps what it looks like. */
  screenshot(name: string): Promise<void>
  close(): Promise<void>
}

/** Opens a tab of its own, as somebody who has never been there. */
export async function openTab(
  browser: Browser,
  origin: string,
  options: BrowserContextOptions = {},
): Promise<Tab> {
  const context = await browser.newContext({
    viewport: { width: 1280, height: 860 },
    timezoneId: 'Europe/Zurich',
    locale: 'en-GB',
    ...options,
  })
  const page = await context.newPage()
  page.setDefaultTimeout(30_000)
  const complaints: string[] = []
  page.on('console', (message) => {
    if (['error', 'warning'].includes(message.type())) complaints.push(`console: ${message.text()}`)
  })
  page.on('pageerror', (error) => complaints.push(`error: ${error.message}`))
  page.on('dialog', (dialog) => {
    complaints.push(`dialog: ${dialog.message()}`)
    void dialog.dismiss()
  })
  page.on('request', (request) => {
    if (!request.url().startsWith(`${origin}/`) && !request.url().startsWith('blob:')) {
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
    screenshot: async (name) => {
      await mkdir(SCREENSHOTS, { recursive: true })
      await page.screenshot({ path: new URL(`${name}.png`, SCREENSHOTS).pathname, fullPage: true })
    },
    close: () => context.close(),
  }
}

/** The rules that another colour scheme can break. */
const RULES_OF_COLOURS = ['color-contrast', 'link-in-text-block']

/** The faults that axe finds, in words; with `ofColours` only those of colours, in a fraction of the time. */
export async function faultsOf(page: Page, { ofColours = false } = {}): Promise<string[]> {
  await page.evaluate(axe.source)
  const options = { resultTypes: ['violations'], ...(ofColours && { runOnly: RULES_OF_COLOURS }) }
  const { violations } = (await page.evaluate(`axe.run(${JSON.stringify(options)})`)) as axe.AxeResults
  return violations.map(
    ({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html.slice(0, 120)).join(' | ')}`,
  )
}

/** Elements wider than their place, which scroll or are cut off. */
const CUT_OFF = `[...document.querySelectorAll('body, body *')]
  .filter((element) => element.scrollWidth > element.clientWidth + 1 && !element.matches('.skip'))
  .filter((element) => element.clientWidth > 0 && getComputedStyle(element).display !== 'inline')
  .map((element) => element.tagName + '.' + element.className)`

/**
 * Waits until nothing of the page is cut off, so that one has to scroll sideways to it, or cannot see it: charts, and the
 * list in place of the workbench's grid, follow a window that changes a moment later. Rejects with what is cut off.
 */
export async function toFit(page: Page): Promise<void> {
  const fits = async () => {
    const cutOff = await page.evaluate(CUT_OFF)
    if (String(cutOff) !== '') throw new Error(`cut off: ${cutOff}`)
    return (await page.evaluate('document.documentElement.scrollWidth')) === page.viewportSize()?.width
  }
  await until(fits, { what: 'the page to be no wider than its window', timeoutMs: 10_000 })
}
