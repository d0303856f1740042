import { cp, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t, { type Test } from 'tap'
import { type ServiceProcess, startService } from '../stack/service.ts'
import { until } from '../stack/until.ts'
import { aWorld, type World } from '../stack/world.ts'
import { command } from './command.ts'

const ROOT = fileURLToPath(new URL('../../', import.meta.url))
const PARTITION_COUNT = 3
const COUNT = 120
const RIGHT = {
  eventId: '/id',
  eventType: '/type',
  partyLocator: '/party',
  locator: '/claim',
  reason: '/why',
}
const BECAUSE = ['--because', 'the map was wrong', '--by', 'alice', '--yes']

/** A function that starts a replica with this envelope map. */
async function aProgram(t: Test, world: World, change: Partial<typeof RIGHT> = {}) {
  const folder = t.testdir({})
  for (const part of ['src', 'db', 'test/first', 'package.json'])
    await cp(join(ROOT, part), join(folder, part), { recursive: true })
  await symlink(join(ROOT, 'node_modules'), join(folder, 'node_modules'))
  const map = JSON.stringify({ ...RIGHT, ...change })
  await writeFile(join(folder, 'test/first/rules/envelope.json'), map)
  return async (): Promise<ServiceProcess> => {
    const service = await startService(world.env, { main: join(folder, 'src/main.ts') })
    t.teardown(() => service.stop())
    return service
  }
}

/** Events of as many members, of one source. */
const EVENTS = Array.from({ length: COUNT }, (_, i) => ({
  partition: i % PARTITION_COUNT,
  value: JSON.stringify({
    id: `event-${i}`,
    source: 'claims-system',
    type: 'claim.paid',
    party: `party-${i}`,
    claim: `CLM-${i}`,
  }),
}))

const counts = async (world: World) =>
  (
    await world.sql(`SELECT
      (SELECT count(*)::int FROM notifications.notification_log) AS rows,
      (SELECT count(DISTINCT party_locator)::int FROM notifications.notification_log WHERE status = 'SENT') AS told,
      (SELECT count(*)::int FROM notifications.decision WHERE receipt IS NOT NULL) AS messages,
      (SELECT count(*)::int FROM notifications.rejected_message WHERE code = 'conflict') AS conflicts`)
  )[0]

t.test(
  'messages with one event id are one row and conflicts, until the right map takes them in',
  async (t) => {
    const world = await aWorld(t, { partitionCount: PARTITION_COUNT })
    const start = await aProgram(t, world, { eventId: '/source' })
    const replicas = [await start(), await start()]
    await world.publish(EVENTS)
    await world.caughtUp()
    const before = { rows: 1, told: 1, messages: 1, conflicts: COUNT - 1 }
    t.same(await counts(world), before)
    await until(
      () => replicas.some(({ lines }) => lines.some(({ msg }) => /event id of another/.test(msg))),
      {
        what: 'a warning',
      },
    )
    t.match(await command(['doctor', '--json'], world.env), {
      code: 1,
      stdout: /"name": ?"event ids",\s*"status": ?"failed"/,
    })

    t.comment('the same messages, read again')
    for (const replica of replicas) await replica.stop()
    await world.sql('UPDATE notifications.projection_checkpoints SET "offset" = -1')
    const again = await start()
    await world.caughtUp()
    await again.stop()
    t.same(await counts(world), before)

    t.comment('the right map')
    await (await aProgram(t, world))()
    const redrive = ['rejected', 'redrive', '--code', 'conflict', ...BECAUSE]
    t.match(await command(redrive, { DATABASE_URL: world.databaseUrl }), { code: 0, stdout: /119 logged/ })
    t.same(await counts(world), { ...before, rows: COUNT, told: COUNT, messages: COUNT })
  },
)
