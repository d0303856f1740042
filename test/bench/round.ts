import { setTimeout as sleep } from 'node:timers/promises'
import type pg from 'pg'
import { endOffsets, produce, type TestMessage, type Topics } from '../stack/topics.ts'
import { inArena } from './arena.ts'
import type { Contacts } from './contacts.ts'
import { cpuMsOf, cpuMsOfFamily, cpuMsOfMachine, parentPidOf, peakMemoryMbOf } from './cpu.ts'
import { type BenchEvent, generateEvents } from './events.ts'
import type { Running, Side } from './sides.ts'

export interface RoundOptions {
  readonly side: Side
  readonly seed: number
  readonly eventCount: number
  /** Events before the measured ones. */
  readonly warmUpCount: number
  readonly contacts: Contacts
  readonly brokers: string
  /** Duration of the measurement of the idle process afterwards; 0: none. */
  readonly idleSeconds?: number
}

export type Measured = Awaited<ReturnType<typeof runRound>>

/** Rows of a table for the CPU time per event; `else`: the broker, this program and other users of the machine. */
export const CPU_ROWS = (
  [
    ['process', 'the process'],
    ['postgres', 'PostgreSQL'],
    ['contacts', 'policy administration'],
    ['else', 'broker and all else'],
  ] as const
).map(
  ([of, words]) =>
    [`CPU µs/event, ${words}`, ({ cpu }: { cpu: Record<typeof of, number> }) => cpu[of]] as const,
)

/** A broker takes 1 MB in one batch, and one partition may get all of these. */
const PUBLISH_COUNT_MAX = 2_000
const POLL_INTERVAL_MS = 25
/** Maximum time without a further committed event; the longest is the start of a side. */
const STALL_MAX_MS = 60_000
const IDLE_SETTLE_MS = 5_000

/**
 * Measures how one side works off a backlog, with its own database and topics, from the commit that ends the warm-up to the
 * last one; CPU is in µs per event. Every side is observed from outside, by its checkpoints. `faults` says what is wrong with
 * the outcome, and `rowsHash` covers everything except locators and times.
 */
export function runRound(options: RoundOptions) {
  const { side, seed, eventCount, warmUpCount, brokers, contacts, idleSeconds = 0 } = options
  const totalCount = warmUpCount + eventCount
  return inArena(brokers, contacts, async ({ client, topics, start }) => {
    const { size: distinctCount } = await publish(brokers, topics, generateEvents(seed, totalCount))
    // Neither side may pay for pages that were made dirty before it, or for a vacuum that comes once a minute.
    await client.query('CHECKPOINT')
    await disableAutovacuum(client)
    const lookUpsBefore = await contacts.requestCount()
    const running = await start(side)
    const window = await measure(client, running, contacts, { warmUpCount, totalCount })
    return {
      ...window,
      lookUpsPerEvent: ((await contacts.requestCount()) - lookUpsBefore) / totalCount,
      peakMemoryMb: await peakMemoryMbOf(running.pid),
      idleCpu: await idleCpuOf(running.pid, idleSeconds),
      ...(await rowsOf(client)),
      faults: await findFaults(client, brokers, topics, distinctCount),
    }
  })
}

async function disableAutovacuum(client: pg.Client): Promise<void> {
  const { rows } = await client.query(`
    SELECT format('ALTER TABLE %s SET (autovacuum_enabled = false)', oid::regclass) AS statement
    FROM pg_class WHERE relkind = 'r' AND relnamespace = 'notifications'::regnamespace`)
  for (const { statement } of rows) await client.query(statement)
}

/** Publishes all events in order, and returns their distinct ids. */
export async function publish(
  brokers: string,
  topics: Topics,
  events: Iterable<BenchEvent>,
): Promise<ReadonlySet<string>> {
  const ids = new Set<string>()
  let messages: TestMessage[] = []
  const flush = async () => {
    await produce(brokers, messages)
    messages = []
  }
  for (const { topic, key, value, eventId } of events) {
    ids.add(eventId)
    messages.push({ topic: topics[topic], key, value })
    if (messages.length === PUBLISH_COUNT_MAX) await flush()
  }
  await flush()
  return ids
}

/** Rate and CPU µs per event, from the commit that ends the warm-up to the last one. */
export async function measure(
  client: pg.Client,
  running: Running,
  contacts: Contacts,
  { warmUpCount, totalCount }: { warmUpCount: number; totalCount: number },
) {
  const postgresPid = await serverPid(client)
  let ended: string | null = null
  void running.exited.then((how) => {
    ended = how
  })
  let progress = { count: 0, atMs: performance.now() }

  async function sampleAt(count: number) {
    for (;;) {
      const doneCount = await processed(client)
      const atMs = performance.now()
      if (doneCount >= count) return { atMs, doneCount, cpuMs: await readCpu() }
      if (ended !== null) throw new Error(`the measured process ${ended}`)
      if (doneCount > progress.count) progress = { count: doneCount, atMs }
      if (atMs - progress.atMs > STALL_MAX_MS)
        throw new Error(`stuck at ${doneCount} of ${totalCount} events for ${STALL_MAX_MS} ms`)
      await sleep(POLL_INTERVAL_MS)
    }
  }

  async function readCpu() {
    const [own, postgres, ofContacts, machine] = await Promise.all([
      cpuMsOf(running.pid),
      cpuMsOfFamily(postgresPid),
      cpuMsOf(contacts.pid),
      cpuMsOfMachine(),
    ])
    return { process: own, postgres, contacts: ofContacts, else: machine - own - postgres - ofContacts }
  }

  const first = await sampleAt(warmUpCount)
  const last = await sampleAt(totalCount)
  const eventCount = last.doneCount - first.doneCount
  const perEvent = (of: keyof typeof first.cpuMs) => ((last.cpuMs[of] - first.cpuMs[of]) * 1_000) / eventCount
  return {
    // NaN or infinite if all were done before anyone looked again.
    eventsPerSecond: (eventCount * 1_000) / (last.atMs - first.atMs),
    cpu: {
      process: perEvent('process'),
      postgres: perEvent('postgres'),
      contacts: perEvent('contacts'),
      else: perEvent('else'),
    },
  }
}

/** CPU of an idle process as a share of one core, once garbage is collected and the last offsets are reported. */
async function idleCpuOf(pid: number, seconds: number): Promise<number> {
  if (seconds === 0) return Number.NaN
  await sleep(Math.min(IDLE_SETTLE_MS, seconds * 1_000))
  const beforeMs = await cpuMsOf(pid)
  await sleep(seconds * 1_000)
  return ((await cpuMsOf(pid)) - beforeMs) / (seconds * 1_000)
}

/** Number of messages up to the checkpoints. */
export async function processed(client: pg.Client): Promise<number> {
  const { rows } = await client.query(
    'SELECT coalesce(sum("offset" + 1), 0)::integer AS count FROM notifications.projection_checkpoints',
  )
  return rows[0].count
}

/** Process id of a database server on this machine; NaN for one elsewhere. */
export async function serverPid(client: pg.Client): Promise<number> {
  const { rows } = await client.query('SELECT pg_backend_pid() AS pid')
  const isLocal = ['127.0.0.1', 'localhost', '::1'].includes(client.host)
  return isLocal ? parentPidOf(rows[0].pid) : Number.NaN
}

/** The columns of one row that differ from the expected count, in words. */
export async function findCountFaults(
  client: pg.Client,
  expected: number,
  query: string,
  values?: unknown[],
): Promise<string[]> {
  const { rows } = await client.query(query, values)
  return Object.entries(rows[0]).flatMap(([what, count]) =>
    count === expected ? [] : [`${count} ${what} instead of ${expected}`],
  )
}

/** Every event has one row and one decision, no message was rejected, and the checkpoints are at the end. */
export async function findFaults(
  client: pg.Client,
  brokers: string,
  topics: Topics,
  distinctCount: number,
): Promise<string[]> {
  const counts = await findCountFaults(
    client,
    distinctCount,
    `SELECT
       (SELECT count(*) FROM notifications.notification_log)::integer AS rows,
       (SELECT count(*) FROM notifications.decision)::integer AS decisions`,
  )
  const rejected = await findCountFaults(
    client,
    0,
    'SELECT count(*)::integer AS "rejected messages" FROM notifications.rejected_message',
  )
  const ends = await Promise.all(Object.values(topics).map((topic) => endOffsets(brokers, topic)))
  const end = ends.flatMap(Object.values).reduce((sum, offset) => sum + offset, 0)
  const done = await processed(client)
  return [...counts, ...rejected, ...(done === end ? [] : [`${done} of ${end} messages processed`])]
}

/** Hash of all rows, and the mean size in bytes of a log row with its decision. */
async function rowsOf(client: pg.Client): Promise<{ rowsHash: string; rowBytes: number }> {
  const { rows } = await client.query(`
    SELECT
      md5(string_agg(
        jsonb_build_array(
          event_id, party_locator, event_type, channel, status, subject, body, failure_reason, attempt_count
        )::text, ' ' ORDER BY event_id
      )) AS "rowsHash",
      avg(pg_column_size(entry))::float8
        + (SELECT avg(pg_column_size(decision)) FROM notifications.decision)::float8 AS "rowBytes"
    FROM notifications.notification_log AS entry`)
  return rows[0]
}
