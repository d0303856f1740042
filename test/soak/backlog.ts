// node test/stack/with-stack.ts -- node test/soak/backlog.ts
// A backlog of EVENTS events (1,000,000) before a slow database: memory must stay flat. Exits 1 where it does not.
import { readFile } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import { manyEvents, rowCount } from '../service/exactly-once.ts'
import { createWorld } from '../stack/world.ts'
import { numberFrom, result, say } from './report.ts'

const PARTITION_COUNT = 3
const PUBLISHED_AT_ONCE = 10_000
/** A hundred times what a statement takes otherwise. */
const INSERT_MS = 50
const SETTLED_COUNT = 100_000
const GROWTH_MAX = 1.3
const SAMPLE_MS = 500
/** So many samples make one figure: a single one may stand just before or after a collection of garbage. */
const SAMPLE_COUNT = 10

const eventCount = numberFrom('EVENTS', 1_000_000)
const world = await createWorld({ partitionCount: PARTITION_COUNT })
try {
  await world.sql(`
    CREATE FUNCTION public.slow_down() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN PERFORM pg_sleep(${INSERT_MS / 1_000}); RETURN NULL; END $$`)
  await world.sql(`
    CREATE TRIGGER slow_down BEFORE INSERT ON notifications.notification_log
    FOR EACH STATEMENT EXECUTE FUNCTION public.slow_down()`)
  for (let count = 0; count < eventCount; count += PUBLISHED_AT_ONCE) {
    await world.publish(manyEvents(Math.min(PUBLISHED_AT_ONCE, eventCount - count), PARTITION_COUNT))
    if (count % (PUBLISHED_AT_ONCE * 10) === 0) say(`published ${count + PUBLISHED_AT_ONCE} of ${eventCount}`)
  }
  const { pid } = await world.serve({ LOG_LEVEL: 'info' })
  const samples: number[] = []
  let settledMb: number | null = null
  let doneCount = 0
  while (doneCount < eventCount) {
    await sleep(SAMPLE_MS)
    samples.push(await residentMb(pid))
    const before = doneCount
    doneCount = await processedCount()
    if (settledMb === null && doneCount >= Math.min(SETTLED_COUNT, eventCount / 2))
      settledMb = recentMb(samples)
    if (Math.floor(before / SETTLED_COUNT) < Math.floor(doneCount / SETTLED_COUNT))
      say(`${doneCount} of ${eventCount} processed, ${recentMb(samples)} MB resident`)
  }
  const endMb = recentMb(samples)
  const growth = endMb / (settledMb ?? Number.NaN)
  say(`resident: ${settledMb} MB at the first, ${endMb} MB at the end, ${Math.max(...samples)} MB at most`)
  result({
    [`memory grows by a factor of at most ${GROWTH_MAX}: ${growth.toFixed(2)}`]: growth <= GROWTH_MAX,
    'each event has its row': (await rowCount(world)) === eventCount,
  })
} finally {
  await world.close()
}

async function processedCount(): Promise<number> {
  const [row] = await world.sql(
    'SELECT coalesce(sum("offset" + 1), 0)::int AS count FROM notifications.projection_checkpoints',
  )
  return row?.count ?? 0
}

async function residentMb(pid: number): Promise<number> {
  const kilobytes = /^VmRSS:\s+(\d+) kB/m.exec(await readFile(`/proc/${pid}/status`, 'utf8'))?.[1]
  return Math.round(Number(kilobytes) / 1_024)
}

/** The median of the last samples. */
function recentMb(samples: readonly number[]): number {
  const recent = samples.slice(-SAMPLE_COUNT).toSorted((a, b) => a - b)
  return recent[recent.length >> 1] ?? Number.NaN
}
