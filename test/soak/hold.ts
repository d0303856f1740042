// node test/stack/with-stack.ts -- node test/soak/hold.ts
// Three replicas under RATE (2,000) events/s, all messages held for SECONDS (60), in which two replicas are killed, the third is
// upgraded to a version with a pending migration, and one comes back: no message may be handed over between the acknowledgement and
// the resume; then each event has its row.
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { spawned } from '../process/command.ts'
import { rowCount } from '../process/rows.ts'
import { untilReady } from '../stack/ask.ts'
import { numberFrom } from '../stack/environment.ts'
import { MAIN, preloading } from '../stack/executable.ts'
import { startService } from '../stack/service.ts'
import { until } from '../stack/until.ts'
import { createWorld, manyEvents } from '../stack/world.ts'
import { makeNextVersion } from './next-version.ts'
import { publishBursts } from './publish-bursts.ts'
import { result, say } from './report.ts'

const rate = numberFrom('RATE', 2_000)
const heldMs = numberFrom('SECONDS', 60) * 1_000
const PARTITION_COUNT = 3
const PARTY_COUNT = 5_000
const BURST_EVERY_MS = 100
const TIMEOUT_MS = 300_000
const THIS_VERSION = fileURLToPath(new URL('../../', import.meta.url))

const next = await makeNextVersion({
  '9001_column.sql': 'ALTER TABLE notifications.notification_log ADD COLUMN next_version text',
})
const world = await createWorld({ partitionCount: PARTITION_COUNT })
/** When a replica handed messages over, by the clock of this machine. */
const handedOverMs: number[] = []
try {
  const [first, second, third] = [
    await start(THIS_VERSION),
    await start(THIS_VERSION),
    await start(THIS_VERSION),
  ]
  const publishing = new AbortController()
  const burst = () => manyEvents(Math.ceil((rate * BURST_EVERY_MS) / 1_000), PARTITION_COUNT, PARTY_COUNT)
  const published = publishBursts(world, burst, BURST_EVERY_MS, publishing.signal)
  await until(async () => (await rowCount(world)) > rate, { what: 'the first events' })

  await run(MAIN, 'hold', '--because', 'a soak test', '--yes')
  const heldAtMs = Date.now()
  say(`held, ${await rowCount(world)} rows`)
  await sleep(heldMs / 4)
  for (const replica of [first, second]) {
    replica.kill('SIGKILL')
    await replica.exited
    say('a replica was killed')
  }
  await sleep(heldMs / 4)
  await run(next.main, 'migrate')
  const upgraded = await start(next.folder)
  await untilReady(upgraded.url)
  await third.stop()
  say('one was upgraded')
  await sleep(heldMs / 4)
  const replacement = await start(THIS_VERSION)
  await untilReady(replacement.url)
  say('one came back')
  await sleep(heldMs / 4)
  const heldRowCount = await rowCount(world)
  const resumedAtMs = Date.now()
  await run(MAIN, 'resume', '--because', 'a soak test', '--yes')
  say(`resumed, ${heldRowCount} rows`)

  await until(() => handedOverMs.some((ms) => ms > resumedAtMs), { what: 'a message after the resume' })
  publishing.abort()
  const publishedCount = await published
  await until(async () => (await rowCount(world)) >= publishedCount, {
    what: 'each event to have its row',
    timeoutMs: TIMEOUT_MS,
  })
  await world.caughtUp()
  const early = handedOverMs.filter((ms) => ms > heldAtMs && ms < resumedAtMs)
  say(`${publishedCount} events, ${handedOverMs.length} messages handed over, ${early.length} while held`)
  const [skipped] = await world.sql(
    `SELECT count(*)::int FROM notifications.notification_log WHERE status <> 'SENT'`,
  )
  result({
    'messages are handed over before the hold': handedOverMs.some((ms) => ms < heldAtMs),
    'none is handed over between acknowledgement and resume': early.length === 0,
    'each event has its row': (await rowCount(world)) === publishedCount,
    'nothing is skipped or failed': skipped?.count === 0,
  })
  await Promise.all([upgraded, replacement].map((replica) => replica.stop()))
} finally {
  await world.close()
  await rm(next.folder, { recursive: true })
}

/** @param version the folder of the version that runs */
function start(version: string) {
  const recorder = pathToFileURL(join(version, 'test/stack/record-recipients.ts'))
  return startService(
    { ...world.env, ...preloading(recorder), LOG_LEVEL: 'info' },
    {
      main: join(version, 'src/main.ts'),
      onLine: ({ msg, time }) => msg === 'message handed over' && handedOverMs.push(Date.parse(String(time))),
    },
  )
}

async function run(main: string, command: string, ...options: readonly string[]): Promise<void> {
  const { code, stderr } = await spawned([command, ...options], world.env, main)
  if (code !== 0) throw new Error(`${command} ended with ${code}: ${stderr}`)
}
