import dns, { type LookupAddress } from 'node:dns'
import t from 'tap'
import { createLookup } from '../../src/service/app/resolve-names.ts'
import { startCollector } from '../service/telemetry/collector.ts'
import { ask, putPreferences, untilReady } from '../stack/ask.ts'
import { startIdentityProvider } from '../stack/identity-provider.ts'
import { until } from '../stack/until.ts'
import { anEvent, aWorld } from '../stack/world.ts'

/** libuv looks up as many names at once, of four threads. */
const THREAD_COUNT = 2
/** As long as glibc waits for two name servers that are silent. */
const SILENCE_MS = 10_000
const LOOPBACK: LookupAddress = { address: '127.0.0.1', family: 4 }

let silent = ''
let freeCount = THREAD_COUNT
const waiting: (() => void)[] = []

/** A getaddrinfo with two threads, which knows all names but the silent one. */
function getaddrinfo(name: string, _: object, found: (error: Error | null, found: LookupAddress[]) => void) {
  const run = () => {
    freeCount--
    const end = (error: Error | null) => {
      freeCount++
      waiting.shift()?.()
      found(error, error === null ? [LOOPBACK] : [])
    }
    if (name !== silent) return void setImmediate(end, null)
    const error = Object.assign(new Error(`getaddrinfo EAI_AGAIN ${name}`), { code: 'EAI_AGAIN' })
    setTimeout(end, SILENCE_MS, error).unref()
  }
  if (freeCount > 0) run()
  else waiting.push(run)
}

const lookup = createLookup(getaddrinfo, () => performance.now())
Object.assign(dns, { lookup })

const [idp, collector] = await Promise.all([startIdentityProvider(), startCollector()])
t.teardown(() => Promise.all([idp.stop(), collector.stop()]))

/** The address with a name in place of its host. */
const named = (url: string, name: string) => url.replace(/127\.0\.0\.1|localhost/, name)

for (const name of ['policy', 'idp', 'collector'])
  t.test(`if no server resolves the name of the ${name}, all else goes on`, async (t) => {
    // No test uses the names of another, which may still be looked up.
    const nameOf = (neighbour: string) => `${neighbour}.without-${name}.test`
    silent = nameOf(name)
    const world = await aWorld(t)
    const service = await world.serve({
      DATABASE_URL: named(world.env.DATABASE_URL ?? '', nameOf('database')),
      MQ_BROKERS: named(world.brokers, nameOf('broker')),
      POLICY_ADMIN_URL: named(world.policyAdministration.url, nameOf('policy')),
      ...(name === 'idp' && { IDP_JWKS_URI: named(idp.keySetUrl, nameOf('idp')) }),
      OTEL_ENDPOINT: named(collector.url, nameOf('collector')),
    })
    await untilReady(service.url)
    const events = Array.from({ length: 40 }, (_, i) => anEvent({ partyLocator: `party-${i}` }))
    await world.publish(events)
    await until(() => freeCount < THREAD_COUNT, { what: 'the silent name to be looked up', intervalMs: 5 })
    // So that each request needs a new connection.
    await world.sql(
      `SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()`,
    )
    for (let i = 0; i < 5; i++) {
      t.match(await ask(`${service.url}/readyz`), { status: 200 })
      if (name !== 'idp') t.match(await putPreferences(service.url, 'party-x', {}), { status: 200 })
    }
    await world.caughtUp()
    t.strictSame(
      await world.sql('SELECT DISTINCT status, attempt_count FROM notifications.notification_log'),
      [name === 'policy' ? { status: 'FAILED', attempt_count: 0 } : { status: 'SENT', attempt_count: 1 }],
    )
    if (name !== 'collector') await until(() => collector.spans.length > 0, { what: 'traces' })
    await service.stop()
  })

t.test('a broker or a database whose name no server resolves keeps the process answering', async (t) => {
  const world = await aWorld(t)
  silent = 'broker.test'
  const withoutBroker = await world.serve({ MQ_BROKERS: named(world.brokers, 'broker.test') })
  await untilReady(withoutBroker.url)
  t.match(await putPreferences(withoutBroker.url, 'party-x', {}), { status: 200 })
  silent = 'other.test'
  const url = named(world.env.DATABASE_URL ?? '', 'other.test')
  const withoutDatabase = await world.serve({ DATABASE_URL: url })
  await withoutDatabase.logged(/^waiting for the database$/)
  t.match(await ask(`${withoutDatabase.url}/healthz`), { status: 200 })
  t.match(await putPreferences(withoutBroker.url, 'party-x', {}), { status: 200 })
})

t.test('a broker whose name no server resolves does not keep another from being asked', async (t) => {
  const world = await aWorld(t)
  silent = 'gone.test'
  const other = named(world.brokers, 'broker.test')
  await world.serve({ MQ_BROKERS: `gone.test:9,gone.test:10,${other}` })
  await world.publish([anEvent()])
  await world.caughtUp()
})
