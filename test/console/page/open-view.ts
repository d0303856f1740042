import type { Test } from 'tap'
import type { ConsoleData } from '../../../src/console/routes/data-routes.ts'
import type { ExplainedLogEntry, ListedLogEntry } from '../../../src/service/model/log/log-entry.ts'
import { ENTRY } from '../../service/http/fixture.ts'
import { serveConsole } from '../routes/fixture.ts'
import { sharedTab } from './browser.ts'

type Entry = ExplainedLogEntry & ListedLogEntry

export const GIVEN_UP: Entry = {
  ...ENTRY,
  because: 'Policy administration could not be asked about the member.',
  status: 'FAILED',
  failureReason: 'contact could not be resolved: HTTP 500',
  attemptCount: 3,
  givenUp: true,
  receipt: null,
  recordedOnly: false,
}

/** A log with this entry alone. */
export const withEntry = (entry: Entry): Partial<ConsoleData> => ({
  logEntries: { list: async () => ({ items: [entry], next: null }), get: async () => entry },
})

/** A log without entries. */
export const EMPTY = { list: async () => ({ items: [], next: null }), get: async () => null }

/** Opens a view of a console with this data. */
export async function openView(t: Test, path: string, data: Partial<ConsoleData> = {}, mayAsk = true) {
  const http = serveConsole(data, { isLoopback: mayAsk })
  const url = await http.listen()
  const tab = await sharedTab(url)
  t.teardown(async () => {
    await tab.renew()
    await http.close()
  })
  await tab.page.clock.install()
  await tab.page.goto(`${url}/console${path}`)
  return { page: tab.page, complaints: tab.complaints, url }
}
