// node test/stack/with-stack.ts -- node test/soak/versions.ts
// A random history of upgrades and rollbacks: for MINUTES, replicas of this version and of the next one, with a channel and a fact
// that this one does not know, take each other's place while events, preferences, readers and commands come in. Every event has
// its row, no answer is a 500, no partition is blocked, and each version reads and verifies what the other wrote.
import { randomInt } from 'node:crypto'
import { rm } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import { createRandom } from '../bench/random.ts'
import { spawned } from '../service/command.ts'
import { rowCount } from '../service/exactly-once.ts'
import { endWithSignals, numberFrom } from '../stack/environment.ts'
import { MAIN } from '../stack/executable.ts'
import { type ServiceProcess, startService } from '../stack/service.ts'
import { until } from '../stack/until.ts'
import { anEvent, createWorld, type TopicName } from '../stack/world.ts'
import { makeNextVersion, NEXT_CHANNEL } from './next-version.ts'
import { result, say } from './report.ts'

const PARTITION_COUNT = 3
const REPLICA_COUNT = 3
const BURST_EVERY_MS = 200
const BURST_COUNT = 20
const PARTY_COUNT = 500
const CALL_EVERY_MS = 50
const COMMAND_EVERY_MS = 10_000
/** Between two replacements of a replica. */
const PAUSE_MS_MAX = 12_000
const GAP_MAX_MS = 30_000
/** A retry comes every minute. */
const RETRIED_MS_MAX = 240_000

const LOG = 'notifications.notification_log'
const TOPICS: readonly TopicName[] = ['claims', 'billing', 'enrollment']
const PARTIES = ['party-', 'party-', 'party-', 'no-email-', 'unknown-']
const EVENT_TYPES = ['claim.paid', 'claim.rejected', 'invoice.paid', 'pet.adopted']
const CHANNELS = ['EMAIL', 'SMS', 'IN_APP']
const COMMANDS = [
  'why {locator}',
  'log --since 1m',
  'export --party {party}',
  'rules backtest --since 1h',
  'replay --verify',
  'retry --since 1h --dry-run',
]
/** A command of a version that did not make the newest decision. */
const NOT_IN_FORCE = /is not in force/

const UNPAIRED = `
  SELECT count(*)::int FROM ${LOG} AS log FULL JOIN notifications.decision USING (locator)
  WHERE log.event_id IS NULL OR decision.event_id IS NULL`
const SENT_TWICE = `
  SELECT count(receipt)::int - count(DISTINCT receipt)::int AS count FROM notifications.decision`

endWithSignals()

interface Version {
  readonly name: 'this' | 'next'
  readonly main: string
}
interface Replica {
  readonly version: Version
  readonly process: ServiceProcess
}

const seed = numberFrom('SEED', randomInt(1_000_000), 0)
const minutes = numberFrom('MINUTES', 10)
say(`make soak-versions SEED=${seed} MINUTES=${minutes}`)
/** The order of the replicas is that of the seed; their load depends on how fast they answer, too. */
const history = createRandom(seed)
const random = createRandom(seed ^ 0x10ad)
const pick = <T>(all: readonly T[], { below } = random): T => all[below(all.length)] as T
const aParty = () => `${pick(PARTIES)}${random.below(PARTY_COUNT)}`

const next = await makeNextVersion({
  '9001_column.sql': `ALTER TABLE ${LOG} ADD COLUMN next_version text`,
})
const versions: readonly Version[] = [
  { name: 'this', main: MAIN },
  { name: 'next', main: next.main },
]
const [thisVersion, nextVersion] = versions as readonly [Version, Version]
const world = await createWorld({ partitionCount: PARTITION_COUNT })
const faults = new Map<string, number>()
const counts = { published: 0, calls: 0, commands: 0, refused: 0, replaced: 0 }
const ended = new AbortController()
try {
  const migrated = await spawned(['migrate'], world.env, next.main)
  if (migrated.code !== 0) throw new Error(`migrate ended with ${migrated.code}: ${migrated.stderr}`)
  const replicas = await Promise.all(Array.from({ length: REPLICA_COUNT }, () => start(thisVersion)))
  const load = [publish(), call(replicas), useCommands()].map((work) =>
    work.catch((error) => note(`the run itself failed: ${error}`)),
  )

  const endMs = performance.now() + minutes * 60_000
  while (performance.now() < endMs) {
    await sleep(2_000 + history.below(PAUSE_MS_MAX - 2_000))
    await replace(replicas, history.below(REPLICA_COUNT), pick(versions, history))
  }
  ended.abort()
  await Promise.all(load)
  for (const slot of replicas.keys()) await replace(replicas, slot, nextVersion)
  await world.caughtUp()
  const waiting = async () =>
    (await countOf(
      `SELECT count(*)::int FROM ${LOG} WHERE failure_reason LIKE 'preferred channel unknown:%'`,
    )) === 0
  const isRetried = await until(waiting, { what: 'the retries', timeoutMs: RETRIED_MS_MAX }).catch(
    () => false,
  )
  await Promise.all(replicas.map(({ process }) => stop(process)))

  const gapMs = await longestGapMs()
  say(`${JSON.stringify(counts)}; the longest time without a commit of a partition was ${gapMs} ms`)
  for (const [fault, count] of faults) say(`${count} times: ${fault}`)
  const byChannel = `SELECT count(*)::int FROM ${LOG} WHERE status = 'SENT' AND channel = '${NEXT_CHANNEL}'`
  const verified = await Promise.all(
    versions.map(({ main }) => spawned(['replay', '--verify'], world.env, main)),
  )
  for (const { stdout } of verified) say(stdout.trim())
  result({
    'each event has its row': (await rowCount(world)) === counts.published,
    'each row has its decisions, and each decision its row': (await countOf(UNPAIRED)) === 0,
    'no message is sent twice': (await countOf(SENT_TWICE)) === 0,
    'no call, command or replica failed': faults.size === 0,
    [`no partition was without a commit for over ${GAP_MAX_MS} ms`]: gapMs <= GAP_MAX_MS,
    'the next version sent by its channel': (await countOf(byChannel)) > 0,
    'the next version sent what this one could not': isRetried,
    'both versions verify the log': verified.every(({ code }) => code === 0),
  })
} finally {
  ended.abort()
  await world.close()
  await rm(next.folder, { recursive: true })
}
process.exit()

async function countOf(sql: string): Promise<number> {
  const [row] = await world.sql(sql)
  return row?.count
}

function note(fault: string): void {
  faults.set(fault, (faults.get(fault) ?? 0) + 1)
}

async function start(version: Version): Promise<Replica> {
  const env = { ...world.env, LOG_LEVEL: 'info', MANAGEMENT_PORT: '0' }
  const process = await startService(env, {
    main: version.main,
    // A batch that cannot be committed blocks its partition; one that another replica has taken over does not.
    onLine: ({ level, msg, reason }) => {
      if (level === 'error' || level === 'fatal' || reason === 'not-committed')
        note(`${version.name}: ${msg}`)
    },
  })
  return { version, process }
}

/** In order, or killed. */
async function replace(replicas: Replica[], slot: number, version: Version): Promise<void> {
  const old = replicas[slot] as Replica
  const isKilled = history.below(5) === 0
  if (isKilled) {
    old.process.kill('SIGKILL')
    await old.process.exited
  } else await stop(old.process)
  replicas[slot] = await start(version)
  counts.replaced++
  say(`replica ${slot}: ${old.version.name} ${isKilled ? 'was killed' : 'stopped'}, ${version.name} started`)
}

async function stop(process: ServiceProcess): Promise<void> {
  const code = await process.stop()
  if (code !== 0) note(`a replica ended with ${code}: ${process.stderr.join(' ')}`)
}

async function publish(): Promise<void> {
  const startedMs = performance.now()
  for (let burst = 1; !ended.signal.aborted; burst++) {
    await world.publish(
      Array.from({ length: BURST_COUNT }, (_, i) => ({
        ...anEvent({ partyLocator: aParty(), eventType: pick(EVENT_TYPES) }),
        topic: pick(TOPICS),
        partition: i % PARTITION_COUNT,
      })),
    )
    counts.published += BURST_COUNT
    await sleep(Math.max(0, startedMs + burst * BURST_EVERY_MS - performance.now()))
  }
}

/** Changes preferences and reads, at any replica. One that stops or starts may refuse or answer 503. */
async function call(replicas: readonly Replica[]): Promise<void> {
  while (!ended.signal.aborted) {
    const { process, version } = pick(replicas)
    const [path, init] = random.below(2) === 0 ? changeOfPreferences(version) : [await aPath(), {}]
    const isConsole = path.startsWith('/console/')
    const response = await (async () => {
      const url = isConsole ? await process.managementUrl() : process.url
      const answer = await fetch(`${url}${path}`, { ...init, signal: AbortSignal.timeout(10_000) })
      return { status: answer.status, body: await answer.text() }
    })().catch(() => null)
    counts.calls++
    if (response !== null && ![200, 404, 503].includes(response.status))
      note(
        `${version.name}: ${path.replaceAll(/NTF-.*|\d+/g, '…')} answered ${response.status}: ${response.body}`,
      )
    await sleep(CALL_EVERY_MS)
  }
}

function changeOfPreferences({ name }: Version): [path: string, init: RequestInit] {
  const preferredChannel = pick(name === 'next' ? [...CHANNELS, NEXT_CHANNEL, NEXT_CHANNEL] : CHANNELS)
  const optedOutEvents = random.below(4) === 0 ? [pick(EVENT_TYPES)] : []
  const headers = { 'content-type': 'application/json' }
  const body = JSON.stringify({ preferredChannel, optedOutEvents })
  return [`/preferences/${aParty()}`, { method: 'PUT', headers, body }]
}

async function aPath(): Promise<string> {
  const paths = [
    '/log/list?limit=50',
    `/notifications/list?partyLocator=${aParty()}`,
    `/log/${await aLocator()}`,
    `/preferences/${aParty()}`,
    '/preferences/list?limit=200',
    `/console/data/log/${await aLocator()}`,
    `/console/data/preferences/${aParty()}`,
    '/console/data/counts',
    '/console/data/rules',
  ]
  return pick(paths)
}

/** Prefers the rows that only one version understands. */
async function aLocator(): Promise<string> {
  const some = random.below(2) === 0 ? `WHERE channel = '${NEXT_CHANNEL}'` : ''
  const [row] = await world.sql(
    `SELECT locator FROM (SELECT locator FROM ${LOG} ${some} ORDER BY locator DESC LIMIT 100) AS newest ORDER BY random() LIMIT 1`,
  )
  return row?.locator ?? 'NTF-nowhere'
}

async function useCommands(): Promise<void> {
  while (!ended.signal.aborted) {
    await sleep(COMMAND_EVERY_MS, undefined, { signal: ended.signal }).catch(() => {})
    const locator = await aLocator()
    if (ended.signal.aborted || locator === 'NTF-nowhere') continue
    const version = pick(versions)
    const command = pick(COMMANDS).replace('{locator}', locator).replace('{party}', aParty())
    const { code, stdout, stderr } = await spawned(command.split(' '), world.env, version.main)
    counts.commands++
    if (code !== 0 && NOT_IN_FORCE.test(stderr)) counts.refused++
    else if (code !== 0)
      note(`${version.name}: ${command} ended with ${code}: ${stderr}${stdout.slice(0, 2_000)}`)
  }
}

/** Between two events of one partition that were decided, one after the other. */
async function longestGapMs(): Promise<number> {
  const [row] = await world.sql(`
    SELECT round(1000 * extract(epoch FROM max(gap)))::int AS gap FROM (
      SELECT decided_at - lag(decided_at) OVER (PARTITION BY topic, partition_id ORDER BY decided_at) AS gap
      FROM (
        SELECT DISTINCT ON (locator) topic, partition_id, decided_at FROM notifications.decision
        ORDER BY locator, attempt
      ) AS first
    ) AS gaps`)
  return row?.gap ?? Number.POSITIVE_INFINITY
}
