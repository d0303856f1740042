// node test/stack/with-stack.ts -- node test/soak/upgrade.ts
// Version N+1, with migrations that version N does not have, takes the place of version N, replica by replica, on a log of ROWS
// rows (1,000,000) while 500 events/s come in: no partition may be without a commit for over 5 s, and no row may be FAILED for it.
import { rm } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { spawned } from '../process/command.ts'
import { rowCount } from '../process/rows.ts'
import { fillLog } from '../service/store/fill-log.ts'
import { untilReady } from '../stack/ask.ts'
import { numberFrom } from '../stack/environment.ts'
import { MAIN } from '../stack/executable.ts'
import { type ServiceProcess, startService } from '../stack/service.ts'
import { createWorld, manyEvents } from '../stack/world.ts'
import { makeNextVersion } from './next-version.ts'
import { publishBursts } from './publish-bursts.ts'
import { result, say } from './report.ts'

const PARTITION_COUNT = 3
const REPLICA_COUNT = 3
const BURST_COUNT = 100
const BURST_EVERY_MS = 200
const PARTY_COUNT = 5_000
/** Between two replicas, as minReadySeconds of the manifests. */
const PAUSE_MS = 10_000
const GAP_MAX_MS = 5_000

const LOG = 'notifications.notification_log'
const PENDING: Readonly<Record<string, string>> = {
  '9001_column.sql': `ALTER TABLE ${LOG} ADD COLUMN next_version text`,
  '9002_index.sql': `CREATE INDEX CONCURRENTLY next_version_event_type ON ${LOG} (event_type, locator);`,
}

const next = await makeNextVersion(PENDING)
const world = await createWorld({ partitionCount: PARTITION_COUNT })
try {
  const client = new pg.Client(world.databaseUrl)
  await client.connect()
  await fillLog(client, numberFrom('ROWS', 1_000_000))
  // The service refuses a log that a crash would empty.
  await client.query(`ALTER TABLE ${LOG} SET LOGGED`)
  await client.end()
  const filledCount = await rowCount(world)
  say('the log is filled')

  let replicas: ServiceProcess[] = []
  for (let i = 0; i < REPLICA_COUNT; i++) replicas.push(await start(MAIN))
  const publishing = new AbortController()
  const burst = () => manyEvents(BURST_COUNT, PARTITION_COUNT, PARTY_COUNT)
  const published = publishBursts(world, burst, BURST_EVERY_MS, publishing.signal)
  await sleep(PAUSE_MS)

  const { code, stderr } = await spawned(['migrate'], world.env, next.main)
  if (code !== 0) throw new Error(`migrate ended with ${code}: ${stderr}`)
  say('migrated')
  for (const old of replicas) {
    const replica = await start(next.main)
    await untilReady(replica.url)
    await old.stop()
    replicas = [...replicas.filter((other) => other !== old), replica]
    say('a replica was replaced')
    await sleep(PAUSE_MS)
  }
  publishing.abort()
  const publishedCount = await published
  await world.caughtUp()
  const gapMs = await longestGapMs()
  say(`${publishedCount} events; the longest time without a commit of a partition was ${gapMs} ms`)
  const [failed] = await world.sql(
    `SELECT count(*)::int FROM ${LOG} WHERE status = 'FAILED' AND created_at > now() - interval '1 hour'`,
  )
  result({
    'no event is lost, and none has two rows': (await rowCount(world)) - filledCount === publishedCount,
    [`no partition is without a commit for over ${GAP_MAX_MS} ms`]: gapMs <= GAP_MAX_MS,
    'no row is FAILED': failed?.count === 0,
  })
  await Promise.all(replicas.map((replica) => replica.stop()))
} finally {
  await world.close()
  await rm(next.folder, { recursive: true })
}

function start(main: string): Promise<ServiceProcess> {
  return startService({ ...world.env, MQ_SESSION_TIMEOUT: '30s', LOG_LEVEL: 'info' }, { main })
}

/** Between two decisions of one partition, one after the other. */
async function longestGapMs(): Promise<number> {
  const [row] = await world.sql(
    `
    SELECT round(1000 * extract(epoch FROM max(gap)))::int AS gap FROM (
      SELECT decided_at - lag(decided_at) OVER (PARTITION BY topic, partition_id ORDER BY decided_at) AS gap
      FROM notifications.decision WHERE topic = ANY($1)
    ) AS gaps`,
    [Object.values(world.topics)],
  )
  return row?.gap ?? Number.POSITIVE_INFINITY
}
