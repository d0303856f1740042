import { setTimeout as sleep } from 'node:timers/promises'
import type pg from 'pg'
import { endOffsets, produce, type TestMessage } from '../stack/topics.ts'
import { inArena } from './arena.ts'
import type { Contacts } from './contacts.ts'
import { cpuMsOf, cpuMsOfFamily, cpuMsOfMachine, parentPidOf, peakMemoryMbOf } from './cpu.ts'
import { type BenchEvent, generateEvents, type TopicName } from './events.ts'
import type { Running, Side } from './sides.ts'

export interface RoundOptions {
  readonly side: Side
  readonly seed: number
  /** Events that are measured, and those before them that are not. */
  readonly eventCount: number
  readonly warmUpCount: number
  readonly contacts: Contacts
  readonly brokers: string
  /** How long it is watched once all is done; 0: not at all. */
  readonly idleSeconds?: number
}

/** What one side did in one round. CPU is in µs for each event; null where it cannot be known. */
export interface Measured {
  /** NaN where there were too few events to tell. */
  readonly eventsPerSecond: number
  readonly cpu: Readonly<Record<CpuOf, number | null>>
  readonly lookUpsPerEvent: number
  readonly peakMemoryMb: number | null
  /** Of the process with nothing to do, as parts of one core; null where it was not watched or cannot be known. */
  readonly idleCpu: number | null
  /** Equal hashes mean equal rows: locators and times left out. */
  readonly rowsHash: string
  /** What PostgreSQL stores for one event, its log row and its decision: the mean. */
  readonly rowBytes: number
  /** What is wrong with the outcome; empty where nothing is. */
  readonly faults: readonly string[]
}

/** `else`: the broker, this harness and whoever else uses the machine. */
export const CPU_OF = ['process', 'postgres', 'contacts', 'else'] as const
type CpuOf = (typeof CPU_OF)[number]

/** Of which one partition may get more than a third: a broker takes 1 MB in one batch. */
const PUBLISH_COUNT_MAX = 5_000
const POLL_INTERVAL_MS = 25
/** Without one more event committed; the start of a side is the longest such time. */
const STALL_MAX_MS = 60_000
const IDLE_SETTLE_MS = 5_000

/**
 * Has one side work off a backlog, with a database and topics of its own, and measures it from the commit that ends the
 * warm-up to the last one. Both are seen from outside, as checkpoints in the database, in the same way for every side.
 */
export function runRound(options: RoundOptions): Promise<Measured> {
  const { side, seed, eventCount, warmUpCount, brokers, contacts, idleSeconds = 0 } = options
  const totalCount = warmUpCount + eventCount
  return inArena(brokers, contacts, async ({ client, topics, start }) => {
    const { size: distinctCount } = await publish(brokers, topics, generateEvents(seed, totalCount))
    // Neither side shall pay for the pages that were made dirty before it.
    await client.query('CHECKPOINT')
    const lookUpsBefore = await contacts.requestCount()
    const running = await start(side)
    const window = await measure(client, running, contacts, { warmUpCount, totalCount })
    return {
      ...window,
      lookUpsPerEvent: ((await contacts.requestCount()) - lookUpsBefore) / totalCount,
      peakMemoryMb: await peakMemoryMbOf(running.pid),
      idleCpu: idleSeconds === 0 ? null : await idleCpuOf(running.pid, idleSeconds),
      rowsHash: await rowsHash(client),
      rowBytes: await rowBytes(client),
      faults: await findFaults(client, brokers, topics, distinctCount),
    }
  })
}

/** Publishes all, in order, and returns their distinct ids. */
export async function publish(
  brokers: string,
  topics: Record<TopicName, string>,
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

/** Something that only grows, read twice. */
interface Sample {
  readonly atMs: number
  readonly processedCount: number
  readonly cpuMs: Readonly<Record<CpuOf, number | null>>
}

/** From the commit that ends the warm-up to the last one. `countDone` says how much is. */
export async function measure(
  client: pg.Client,
  running: Running,
  contacts: Contacts,
  { warmUpCount, totalCount }: { warmUpCount: number; totalCount: number },
  countDone: (client: pg.Client) => Promise<number> = processed,
): Promise<Pick<Measured, 'eventsPerSecond' | 'cpu'>> {
  const postgresPid = await serverPid(client)
  let ended: string | null = null
  void running.exited.then((how) => {
    ended = how
  })
  let progress = { count: 0, atMs: performance.now() }

  async function sampleAt(count: number): Promise<Sample> {
    for (;;) {
      const processedCount = await countDone(client)
      const atMs = performance.now()
      if (processedCount >= count) return { atMs, processedCount, cpuMs: await readCpu() }
      if (ended !== null) throw new Error(`the process measured ${ended}`)
      if (processedCount > progress.count) progress = { count: processedCount, atMs }
      if (atMs - progress.atMs > STALL_MAX_MS)
        throw new Error(`stuck at ${processedCount} of ${totalCount} events for ${STALL_MAX_MS} ms`)
      await sleep(POLL_INTERVAL_MS)
    }
  }

  async function readCpu(): Promise<Sample['cpuMs']> {
    const [own, postgres, ofContacts, machine] = await Promise.all([
      cpuMsOf(running.pid),
      postgresPid === null ? null : cpuMsOfFamily(postgresPid),
      cpuMsOf(contacts.pid),
      cpuMsOfMachine(),
    ])
    const known = [own, postgres, ofContacts]
    const rest = machine === null ? null : known.reduce<number>((left, cpuMs) => left - (cpuMs ?? 0), machine)
    return { process: own, postgres, contacts: ofContacts, else: rest }
  }

  const first = await sampleAt(warmUpCount)
  const last = await sampleAt(totalCount)
  const eventCount = last.processedCount - first.processedCount
  const perEvent = (of: CpuOf) => {
    const [from, to] = [first.cpuMs[of], last.cpuMs[of]]
    return from === null || to === null || eventCount === 0 ? null : ((to - from) * 1_000) / eventCount
  }
  return {
    eventsPerSecond: rateOf(eventCount, last.atMs - first.atMs),
    cpu: {
      process: perEvent('process'),
      postgres: perEvent('postgres'),
      contacts: perEvent('contacts'),
      else: perEvent('else'),
    },
  }
}

/** Events a second; NaN where all were done before anyone looked again, which says nothing of how fast. */
export function rateOf(count: number, durationMs: number): number {
  return count > 0 && durationMs > 0 ? count / (durationMs / 1_000) : Number.NaN
}

/** Begins when what the last events left to do is done: garbage to collect, a report to Kafka. */
async function idleCpuOf(pid: number, seconds: number): Promise<number | null> {
  await sleep(Math.min(IDLE_SETTLE_MS, seconds * 1_000))
  const beforeMs = await cpuMsOf(pid)
  await sleep(seconds * 1_000)
  const afterMs = await cpuMsOf(pid)
  return beforeMs === null || afterMs === null ? null : (afterMs - beforeMs) / (seconds * 1_000)
}

/** How many messages lie behind the checkpoints. */
export async function processed(client: pg.Client): Promise<number> {
  const { rows } = await client.query(
    'SELECT coalesce(sum("offset" + 1), 0)::integer AS count FROM notifications.projection_checkpoints',
  )
  return rows[0].count
}

/** Process id of a database server on this machine; null of one elsewhere. */
async function serverPid(client: pg.Client): Promise<number | null> {
  const { rows } = await client.query('SELECT pg_backend_pid() AS pid')
  const parentPid = await parentPidOf(rows[0].pid)
  const isLocal = ['127.0.0.1', 'localhost', '::1'].includes(client.host)
  return isLocal ? parentPid : null
}

/** Every event has one row and one decision, no message was rejected, and the checkpoints are at the end. */
export async function findFaults(
  client: pg.Client,
  brokers: string,
  topics: Record<TopicName, string>,
  distinctCount: number,
): Promise<string[]> {
  const faults: string[] = []
  const { rows: counts } = await client.query(`
    SELECT
      (SELECT count(*) FROM notifications.notification_log)::integer AS rows,
      (SELECT count(*) FROM notifications.decision)::integer AS decisions,
      (SELECT count(*) FROM notifications.rejected_message)::integer AS rejected`)
  const { rows, decisions, rejected } = counts[0]
  if (rows !== distinctCount) faults.push(`${rows} rows of ${distinctCount} distinct event ids`)
  if (decisions !== distinctCount)
    faults.push(`${decisions} decisions of ${distinctCount} distinct event ids`)
  if (rejected !== 0) faults.push(`${rejected} messages were rejected`)

  const { rows: checkpoints } = await client.query(
    'SELECT topic, partition_id, "offset"::integer FROM notifications.projection_checkpoints',
  )
  for (const topic of Object.values(topics)) {
    for (const [partition, end] of Object.entries(await endOffsets(brokers, topic))) {
      const found = checkpoints.find((row) => row.topic === topic && row.partition_id === Number(partition))
      const offset = found?.offset ?? -1
      if (offset !== end - 1) faults.push(`checkpoint of ${topic}/${partition} at ${offset}, not ${end - 1}`)
    }
  }
  return faults
}

async function rowsHash(client: pg.Client): Promise<string> {
  const { rows } = await client.query(`
    SELECT md5(string_agg(
       jsonb_build_array(
         event_id, party_locator, event_type, channel, status, subject, body, failure_reason, attempt_count
       )::text, ' ' ORDER BY event_id
     )) AS hash
     FROM notifications.notification_log`)
  return rows[0].hash
}

async function rowBytes(client: pg.Client): Promise<number> {
  const { rows } = await client.query(`
    SELECT
      (SELECT avg(pg_column_size(entry)) FROM notifications.notification_log AS entry)::float8
      + (SELECT avg(pg_column_size(decision)) FROM notifications.decision)::float8 AS bytes`)
  return rows[0].bytes
}
