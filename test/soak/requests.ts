// node test/soak/requests.ts
// Requests beside dispatch: ENTRIES (10,000) given-up entries and REJECTED (500) messages are asked for at once while RATE (2,000)
// events/s arrive; then once more while both replicas are killed, one after the other, and replaced. At last LARGE (60) entries of 900 kB.
// Exits 1 if an item is attempted twice or not at all, if dispatch falls below 0.9 of the rate, or if a replica needs over 400 MB.
import { setTimeout as sleep } from 'node:timers/promises'
import type pg from 'pg'
import type { RequestTarget } from '../../src/service/model/request/schemas.ts'
import { openPool } from '../../src/service/store/connection/pool.ts'
import { resolveTime } from '../../src/service/store/read/resolve-time.ts'
import { addRequest } from '../../src/service/store/write/request-row.ts'
import { type Arena, inArena } from '../bench/arena.ts'
import { startContacts } from '../bench/contacts.ts'
import { peakMemoryMbOf } from '../bench/cpu.ts'
import { type BenchEvent, generateEvents } from '../bench/events.ts'
import { processed, publish } from '../bench/round.ts'
import { ours, type Running } from '../bench/sides.ts'
import { giveUp, record, UNRESOLVED } from '../service/store/record.ts'
import { brokersFromEnvironment, endWithSignals, numberFrom } from '../stack/environment.ts'
import { until } from '../stack/until.ts'
import { anEvent } from '../stack/world.ts'
import { result, say } from './report.ts'

const entryCount = numberFrom('ENTRIES', 10_000)
const rejectedCount = numberFrom('REJECTED', 500)
const largeCount = numberFrom('LARGE', 60)
const eventsPerSecond = numberFrom('RATE', 2_000)
const TICK_MS = 100
const KILL_AFTER_MS = 1_500
const TIMEOUT_MS = 300_000
const MEMORY_MB_MAX = 400
const LARGE_CHARACTERS = 900_000
const PARTY = 'party-1'

const brokers = brokersFromEnvironment()
endWithSignals()
const contacts = await startContacts()
const findings = await inArena(brokers, contacts, soak)
contacts.stop()
result(findings)

async function soak(arena: Arena): Promise<Readonly<Record<string, boolean>>> {
  const { client, databaseUrl } = arena
  const pool = await openPool({ databaseUrl, connectionCountMax: 2 })
  const ask = (target: RequestTarget) => addRequest(pool, target, 'soak', 'an outage')
  const findings: Record<string, boolean> = {}
  try {
    const running: Running[] = []
    const start = async () => void running.push(await arena.start(ours))
    await start()
    await start()
    const load = publishSteadily(arena)
    await until(async () => (await processed(client)) > eventsPerSecond, { what: 'the first events' })
    const askForAll = async (name: string) => {
      await giveUp(pool, await recordFailed(pool, name, entryCount))
      const upTo = String(await keepRejected(client, name))
      const to = await resolveTime(pool, 0)
      return [
        await ask({ kind: 'retry', target: { filter: { to, partyLocator: PARTY } } }),
        await ask({ kind: 'redrive', target: { filter: { upTo } } }),
      ]
    }
    const calm = await askForAll('calm')
    const [startedMs, startCount] = [performance.now(), await processed(client)]
    await ended(client, calm)
    const seconds = (performance.now() - startedMs) / 1_000
    const part = ((await processed(client)) - startCount) / seconds / eventsPerSecond
    say(`requests took ${seconds.toFixed(1)} s; dispatch kept ${part.toFixed(2)} of its rate`)
    findings['dispatch keeps 0.9 of its rate'] = part >= 0.9
    Object.assign(findings, await judge(client, calm, 'undisturbed'))
    const disturbed = await askForAll('disturbed')
    for (const [index, replica] of running.slice(0, 2).entries()) {
      await sleep(KILL_AFTER_MS)
      process.kill(replica.pid, 'SIGKILL')
      await replica.exited
      say(`replica ${index + 1} was killed`)
      await start()
    }
    await ended(client, disturbed)
    Object.assign(findings, await judge(client, disturbed, 'two kills'))
    await load.stop()
    await Promise.all(running.map((replica) => replica.stop()))
    const [large] = [await recordFailed(pool, 'large', largeCount, 'x'.repeat(LARGE_CHARACTERS))]
    await giveUp(pool, large)
    const replica = await arena.start(ours)
    await ended(client, [await ask({ kind: 'retry', target: { locators: large } })])
    const memoryMb = await peakMemoryMbOf(replica.pid)
    say(`${largeCount} entries of 900 kB: peak memory ${Math.round(memoryMb)} MB`)
    findings[`a replica needs at most ${MEMORY_MB_MAX} MB`] = memoryMb <= MEMORY_MB_MAX
    return findings
  } finally {
    await pool.end()
  }
}

async function recordFailed(
  pool: Parameters<typeof record>[0],
  name: string,
  count: number,
  reason?: string,
): Promise<readonly string[]> {
  const locators: string[] = []
  const size = reason === undefined ? 1_000 : 5
  for (let start = 0; start < count; start += size) {
    const events = Array.from({ length: Math.min(size, count - start) }, (_, i) => ({
      ...{ eventId: `${name}-${start + i}`, contact: UNRESOLVED, partyLocator: PARTY },
      ...(reason !== undefined && { reason, eventType: 'claim.rejected' }),
    }))
    locators.push(...(await record(pool, events)))
  }
  return locators
}

/** Returns the highest id. */
async function keepRejected(client: pg.Client, name: string): Promise<bigint> {
  const values = Array.from(
    { length: rejectedCount },
    (_, i) => anEvent({ eventId: `${name}-rejected-${i}` }).value,
  )
  const { rows } = await client.query(
    `INSERT INTO notifications.rejected_message (topic, partition_id, "offset", value, headers, code, error)
     SELECT $2, 0, number, convert_to(value, 'UTF8'), '{}', 'refused-by-database', 'a trap'
     FROM unnest($1::text[]) WITH ORDINALITY AS kept (value, number) RETURNING id`,
    [values, name],
  )
  return rows.map(({ id }) => BigInt(id)).reduce((one, other) => (other > one ? other : one))
}

/** Publishes at the rate until stopped; resolves then to the number of messages. */
function publishSteadily({ topics }: Arena) {
  const count = (eventsPerSecond * TICK_MS) / 1_000
  const events = generateEvents(7, Number.MAX_SAFE_INTEGER)
  let isStopped = false
  let publishedCount = 0
  const startedMs = performance.now()
  const running = (async () => {
    while (!isStopped) {
      const batch = Array.from({ length: count }, () => events.next().value as BenchEvent)
      await publish(brokers, topics, batch)
      publishedCount += count
      await sleep(Math.max(0, startedMs + (publishedCount / eventsPerSecond) * 1_000 - performance.now()))
    }
  })()
  return {
    stop: async () => {
      isStopped = true
      await running
      return publishedCount
    },
  }
}

async function ended(client: pg.Client, ids: readonly string[]): Promise<void> {
  let rows: { state: string; endedAt: Date | null }[] = []
  const areEnded = async () => {
    const query = `SELECT state, counts, note, ended_at AS "endedAt" FROM notifications.request WHERE id = ANY($1)`
    rows = (await client.query(query, [ids])).rows
    return rows.every(({ endedAt }) => endedAt !== null)
  }
  await until(areEnded, { what: 'the requests to end', timeoutMs: TIMEOUT_MS, intervalMs: 500 }).catch(
    (error) => {
      say(JSON.stringify(rows))
      throw error
    },
  )
}

async function judge(
  client: pg.Client,
  ids: readonly string[],
  how: string,
): Promise<Record<string, boolean>> {
  const { rows } = await client.query(
    `SELECT kind, state, counts FROM notifications.request WHERE id = ANY($1) ORDER BY id`,
    [ids],
  )
  for (const row of rows) say(JSON.stringify(row))
  const attempts = await client.query(
    `SELECT count(*)::int AS all, count(DISTINCT locator)::int AS entries FROM notifications.decision WHERE request_id = ANY($1)`,
    [ids],
  )
  const expected = entryCount + rejectedCount
  const { all, entries } = attempts.rows[0]
  say(`${all} attempts of ${entries} entries, ${expected} expected`)
  const redrives = await client.query(
    `SELECT count(*)::int AS all, count(DISTINCT rejected_message_id)::int AS messages FROM notifications.redrive
     WHERE result = 'logged' AND locator IN (SELECT locator FROM notifications.decision WHERE request_id = ANY($1))`,
    [ids],
  )
  return {
    [`${how}: each entry and message is attempted exactly once`]: all === expected && entries === expected,
    [`${how}: each redrive is recorded once`]:
      redrives.rows[0].all === rejectedCount && redrives.rows[0].messages === rejectedCount,
    [`${how}: the counts of the requests are those of the attempts`]:
      rows[0].counts.SENT === entryCount && rows[1].counts.logged === rejectedCount,
  }
}
