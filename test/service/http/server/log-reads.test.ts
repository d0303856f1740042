import t from 'tap'
import { startIdentityProvider } from '../../../stack/identity-provider.ts'
import { until } from '../../../stack/until.ts'
import { documentedApp } from '../documented.ts'
import { dependencies, ENTRY, locator, OUTAGE, served, tokensOf } from '../fixture.ts'

const idp = await startIdentityProvider()
t.teardown(() => idp.stop())

/** The lines of the log about reads, after these requests. */
async function readsAfter(urls: readonly string[], overrides: Parameters<typeof dependencies>[0] = {}) {
  const { all, logged } = dependencies({ tokens: tokensOf(idp), ...overrides })
  const app = documentedApp(all)
  const authorization = `Bearer ${await idp.forge({ sub: 'auditor' })}`
  for (const url of urls) await app.inject({ url, headers: { authorization } })
  await app.close()
  return logged.map((line) => JSON.parse(line)).filter(({ msg }) => msg === 'read')
}

t.test('a read is logged with token subject, route, party and row count', async (t) => {
  const reads = await readsAfter([
    '/log/list?partyLocator=PTY-1&status=SENT&limit=7',
    `/notifications/${ENTRY.locator}`,
    `/log/${locator(9)}`,
    '/preferences/PTY-9',
    '/preferences/list',
  ])
  const filters = { partyLocator: 'PTY-1', status: 'SENT' }
  const entry = { locator: ENTRY.locator, partyLocator: ENTRY.partyLocator }
  t.match(reads, [
    { level: 'info', tokenSubject: 'auditor', route: '/log/list', filters, rowCount: 1 },
    {
      level: 'info',
      tokenSubject: 'auditor',
      route: '/notifications/:locator',
      ...entry,
      filters: {},
      rowCount: 1,
    },
    { level: 'info', tokenSubject: 'auditor', route: '/log/:locator', filters: {}, rowCount: 0 },
    { tokenSubject: 'auditor', route: '/preferences/:partyLocator', partyLocator: 'PTY-9', rowCount: 0 },
    { tokenSubject: 'auditor', route: '/preferences/list', filters: {}, rowCount: 0 },
  ])
  t.equal(reads.length, 5)
  for (const value of [ENTRY.subject, ENTRY.body]) t.notMatch(JSON.stringify(reads), value)
})

t.test('without tokens a read is logged with no subject', async (t) => {
  t.match(await readsAfter(['/log/list'], { tokens: null }), [{ tokenSubject: null, rowCount: 1 }])
})

t.test('a request that reads no data is not logged as a read', async (t) => {
  t.strictSame(await readsAfter(['/healthz', '/readyz', '/nowhere', '/log/list?limit=0', '/send']), [])
  const list = () => Promise.reject(OUTAGE)
  const { logEntries } = dependencies().all
  t.strictSame(await readsAfter(['/log/list'], { logEntries: { ...logEntries, list } }), [])
})

t.test('a client that leaves while its list is read is no failure', async (t) => {
  const client = new AbortController()
  const { all, logged } = dependencies()
  const list = (_filter: unknown, _page: unknown, signal: AbortSignal) => {
    client.abort()
    return new Promise<never>((_, reject) =>
      signal.addEventListener('abort', () => reject(signal.reason), { once: true }),
    )
  }
  const { url } = await served(t, { ...all, logEntries: { ...all.logEntries, list } })
  await t.rejects(fetch(`${url}/log/list`, { signal: client.signal }), { name: 'AbortError' })
  const lines = () => logged.map((line) => JSON.parse(line))
  await until(async () => lines().some(({ msg }) => msg === 'the client left'), {
    what: 'the end of the list',
  })
  t.strictSame(
    lines().filter(({ level }) => level === 'error'),
    [],
  )
})
