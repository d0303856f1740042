// node test/soak/freezes.ts
// FREEZES (12) of SECONDS (42): database, broker, policy administration and identity provider stand still in turn, while events
// arrive and clients give up after 2 s. Exits 1 if the service is not whole again within 15 s, or an event has no row of its own.
import { setInterval, setTimeout as sleep } from 'node:timers/promises'
import { manyEvents } from '../service/exactly-once.ts'
import { numberFrom } from '../stack/environment.ts'
import { AUDIENCE, startIdentityProvider } from '../stack/identity-provider.ts'
import { startKafka } from '../stack/kafka.ts'
import { startPostgres } from '../stack/postgres.ts'
import { descendants } from '../stack/processes.ts'
import { until } from '../stack/until.ts'
import { createWorld } from '../stack/world.ts'
import { result, say } from './report.ts'

const PARTITION_COUNT = 2
const WHOLE_WITHIN_MS = 15_000
const PATIENCE_MS = 120_000
const EVENTS_PER_S = 20
const CLIENT_PAUSE_MS = 3_000
const CLIENT_PATIENCE_MS = 2_000

const freezeCount = numberFrom('FREEZES', 12)
const frozenMs = numberFrom('SECONDS', 42) * 1_000

const [kafka, postgres, idp] = await Promise.all([
  startKafka({ log: () => {} }),
  startPostgres(),
  startIdentityProvider(),
])
const world = await createWorld({
  partitionCount: PARTITION_COUNT,
  brokers: kafka.brokers,
  serverUrl: postgres.url,
})

function signal(pid: number | undefined, name: 'SIGSTOP' | 'SIGCONT'): void {
  const parent = Number(pid)
  for (const each of [parent, ...descendants(parent)]) process.kill(each, name)
}
const NEIGHBOURS = [
  ['database', () => signal(postgres.pid(), 'SIGSTOP'), () => signal(postgres.pid(), 'SIGCONT')],
  ['broker', () => signal(kafka.pid(), 'SIGSTOP'), () => signal(kafka.pid(), 'SIGCONT')],
  [
    'policy administration',
    () => world.policyAdministration.mode('hang'),
    () => world.policyAdministration.mode('ok'),
  ],
  ['identity provider', () => idp.be('hanging'), () => idp.be('up')],
] as const

const findings: Record<string, boolean> = {}
const publishedIds: string[] = []
const over = new AbortController()
try {
  const service = await world.spawn({
    IDP_JWKS_URI: idp.keySetUrl,
    IDP_AUDIENCE: AUDIENCE,
    RETRY_MAX_ATTEMPTS: '1000',
    MQ_SESSION_TIMEOUT: '30s',
  })
  const token = await idp.forge()
  const isReady = async () =>
    (await fetch(`${service.url}/readyz`, { signal: AbortSignal.timeout(CLIENT_PATIENCE_MS) })).ok
  await until(isReady, { what: 'the service to be ready' })

  async function publish(count: number): Promise<string> {
    const events = manyEvents(count, PARTITION_COUNT)
    publishedIds.push(...events.map(({ eventId }) => eventId))
    await world.publish(events)
    return events.at(-1)?.eventId ?? ''
  }
  async function load(): Promise<void> {
    for await (const _ of setInterval(1_000, null, { signal: over.signal }))
      void publish(EVENTS_PER_S).catch(() => {})
  }
  async function clients(): Promise<void> {
    for await (const _ of setInterval(CLIENT_PAUSE_MS, null, { signal: over.signal })) {
      const options = { signal: AbortSignal.timeout(CLIENT_PATIENCE_MS) }
      const unknownKey = await idp.forge({}, { kid: crypto.randomUUID() })
      const ask = (path: string, bearer = token, more = {}) =>
        fetch(`${service.url}${path}`, {
          ...options,
          headers: { authorization: `Bearer ${bearer}`, ...more },
        })
      const asked = [1, 2, 3, 4].map((n) => ask(`/preferences/party-${n}`))
      void Promise.allSettled([...asked, ask('/log/list'), ask('/log/list', unknownKey), ask('/readyz')])
    }
  }
  const busy = [load(), clients()].map((work) => work.catch(() => {}))

  for (let i = 0; i < freezeCount; i++) {
    const [name, freeze, thaw] = NEIGHBOURS[i % NEIGHBOURS.length] ?? NEIGHBOURS[0]
    freeze()
    await sleep(frozenMs)
    thaw()
    const startedMs = performance.now()
    const ready = until(isReady, { what: 'readiness', timeoutMs: PATIENCE_MS }).then(
      () => performance.now() - startedMs,
    )
    // One of each partition: a partition of its own may still wait.
    const isWritten = async () => {
      const { length } = await world.sql(
        `SELECT DISTINCT topic, partition_id FROM notifications.projection_checkpoints
         WHERE processed_at > now() - make_interval(secs => $1)`,
        [(performance.now() - startedMs) / 1_000],
      )
      return length === 3 * PARTITION_COUNT
    }
    const writes = until(isWritten, { what: 'rows', timeoutMs: PATIENCE_MS }).then(
      () => performance.now() - startedMs,
    )
    const found = await Promise.all([ready, writes])
    const [readyMs, writesMs] = found.map(Math.round)
    say(`${name}: ready after ${readyMs} ms, all partitions write after ${writesMs} ms`)
    findings[`freeze ${i + 1}, ${name}: whole within 15 s (${readyMs} and ${writesMs} ms)`] =
      Math.max(...found) <= WHOLE_WITHIN_MS
  }
  over.abort()
  await Promise.all(busy)
  await world.caughtUp()
  const [counts] = await world.sql(
    `SELECT count(*)::int AS rows, count(DISTINCT event_id)::int AS events,
       (SELECT count(*)::int FROM notifications.rejected_message) AS rejected,
       (SELECT count(receipt)::int - count(DISTINCT receipt)::int FROM notifications.decision) AS repeated
     FROM notifications.notification_log WHERE event_id = ANY ($1)`,
    [publishedIds],
  )
  say(`${publishedIds.length} events asked for; ${JSON.stringify(counts)}`)
  const [others] = await world.sql(`SELECT count(*)::int AS count FROM notifications.notification_log`)
  // A publication that the frozen broker refused has no row; the checkpoints are at the ends.
  findings['every published event has one row, and no receipt is repeated'] =
    counts?.rows === counts?.events &&
    others?.count === counts?.rows &&
    counts?.rejected === 0 &&
    counts?.repeated === 0
  result(findings)
} finally {
  over.abort()
  await world.close()
  await Promise.all([kafka.close(), postgres.close(), idp.stop()])
}
