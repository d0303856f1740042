// node test/stack/with-stack.ts -- node test/soak/outage.ts
// Policy administration hangs for SECONDS (300) while RATE (1,000) events/s come in: ingest must keep pace, and once it
// answers again every row must be sent within three minutes. Exits 1 where that does not hold.
import { setTimeout as sleep } from 'node:timers/promises'
import { manyEvents, rowCount } from '../service/exactly-once.ts'
import { createWorld } from '../stack/world.ts'
import { numberFrom, result, say } from './report.ts'

const PARTITION_COUNT = 3
const PARTY_COUNT = 5_000
/** The first batches wait for their deadline, until the circuit opens. */
const OPENING_SECONDS = 20
const BACKLOG_SECONDS_MAX = 5
const RECOVERY_MAX_MS = 180_000

const seconds = numberFrom('SECONDS', 300)
const rate = numberFrom('RATE', 1_000)
const world = await createWorld({ partitionCount: PARTITION_COUNT })
try {
  await world.serve({ LOG_LEVEL: 'info' })
  world.policyAdministration.mode('hang')
  let publishedCount = 0
  let backlogMax = 0
  const startedAtMs = performance.now()
  for (let second = 1; second <= seconds; second++) {
    await world.publish(manyEvents(rate, PARTITION_COUNT, PARTY_COUNT))
    publishedCount += rate
    await sleep(Math.max(0, startedAtMs + second * 1_000 - performance.now()))
    const backlog = publishedCount - (await rowCount(world))
    if (second > OPENING_SECONDS) backlogMax = Math.max(backlogMax, backlog)
    if (second % 10 === 0) say(`${second} s: published ${publishedCount}, ${backlog} of them not logged yet`)
  }
  const publishSeconds = (performance.now() - startedAtMs) / 1_000
  await world.caughtUp()
  const failedCount = await countOf('FAILED')
  world.policyAdministration.mode('ok')
  const backAtMs = performance.now()
  say(`policy administration is back: ${failedCount} rows are to be sent`)
  let leftCount = failedCount
  while (leftCount > 0 && performance.now() - backAtMs < 2 * RECOVERY_MAX_MS) {
    await sleep(1_000)
    const before = leftCount
    leftCount = await countOf('FAILED')
    if (leftCount !== before) say(`${leftCount} rows are left`)
  }
  const recoveryMs = performance.now() - backAtMs
  const [sends] = await world.sql(
    'SELECT count(receipt)::int AS count, count(DISTINCT event_id)::int AS events FROM notifications.decision WHERE receipt IS NOT NULL',
  )
  say(
    `published at ${Math.round(publishedCount / publishSeconds)} events/s; sent after ${Math.round(recoveryMs / 1_000)} s`,
  )
  result({
    [`ingest keeps pace: at most ${backlogMax} events wait`]: backlogMax <= BACKLOG_SECONDS_MAX * rate,
    'none is lost': (await rowCount(world)) === publishedCount,
    'every row is sent within three minutes': leftCount === 0 && recoveryMs <= RECOVERY_MAX_MS,
    'none is sent twice': sends?.count === publishedCount && sends?.events === publishedCount,
  })
} finally {
  await world.close()
}

async function countOf(status: string): Promise<number> {
  const [row] = await world.sql(
    'SELECT count(*)::int FROM notifications.notification_log WHERE status = $1',
    [status],
  )
  return row?.count ?? 0
}
