import { cpSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { until } from '../stack/until.ts'
import { aWorld, type World } from '../stack/world.ts'
import { command } from './command.ts'

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
function aProgram(t: Test, world: World, change: Partial<typeof RIGHT> = {}) {
  const house = t.testdir({})
  cpSync(new URL('../first/rules', import.meta.url), join(house, 'rules'), { recursive: true })
  writeFileSync(join(house, 'rules/envelope.json'), JSON.stringify({ ...RIGHT, ...change }))
  return () => world.spawn({ HOUSE: house })
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
    const start = aProgram(t, world, { eventId: '/source' })
    const replicas = [await start(), await start()]
    await world.publish(EVENTS)
    await world.caughtUp()
    const before = { rows: 1, told: 1, messages: 1, conflicts: COUNT - 1 }
    t.strictSame(await counts(world), before)
    await until(
      () => replicas.some(({ lines }) => lines.some(({ msg }) => /rejected list --code conflict/.test(msg))),
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
    t.strictSame(await counts(world), before)

    t.comment('the right map')
    await aProgram(t, world)()
    const redrive = ['rejected', 'redrive', '--code', 'conflict', ...BECAUSE]
    t.match(await command(redrive, { DATABASE_URL: world.databaseUrl }), { code: 0, stdout: /119 logged/ })
    t.strictSame(await counts(world), { ...before, rows: COUNT, told: COUNT, messages: COUNT })
  },
)

t.test('where a map finds nothing to tell messages by, they are conflicts, too', async (t) => {
  const world = await aWorld(t, { partitionCount: PARTITION_COUNT })
  await aProgram(t, world, { eventId: '/source', partyLocator: '/nobody', locator: '/nothing' })()
  await world.publish(EVENTS)
  await world.caughtUp()
  t.strictSame(await counts(world), { rows: 1, told: 0, messages: 0, conflicts: COUNT - 1 })
  t.match(await command(['audit'], world.env), {
    code: 0,
    stdout: / 1 {2}rows .* 119 {2}kept as rejected messages: another message has the row/s,
  })
})

t.test(
  'entries without a party are mended by reading their messages again, and nobody is told twice',
  async (t) => {
    const world = await aWorld(t, { partitionCount: PARTITION_COUNT })
    const map = { partyLocator: '/nobody', locator: '/nothing', eventType: '/source' }
    const wrong = await aProgram(t, world, map)()
    await world.publish(EVENTS)
    await world.caughtUp()
    await wrong.stop()
    const skipped = { rows: COUNT, told: 0, messages: 0, conflicts: 0 }
    t.strictSame(await counts(world), skipped)
    await world.sql(
      `INSERT INTO notifications.notification_preferences (party_locator, opted_out_events) VALUES ('party-3', '["claim.paid"]')`,
    )
    const erased = await command(['erase', '--party', 'party-5', '--yes'], {
      DATABASE_URL: world.databaseUrl,
    })
    t.match(erased, { code: 0, stdout: /^Nothing left to erase of party-5/ }, 'no row names this member yet')

    const start = aProgram(t, world)
    const replicas = [await start(), await start()]
    const env = { DATABASE_URL: world.databaseUrl }
    const retry = ['retry', '--since', '1d', '--read-again']
    t.match(await command([...retry, '--dry-run'], env), {
      code: 0,
      stdout: /^120 items\n {2}120 {2}no party locator\n$/,
    })
    const { stdout } = await command([...retry, ...BECAUSE], env)
    t.match(stdout, /118 sent, 2 left unchanged/)
    t.match(stdout, /left unchanged: it would be skipped again: .*opted out/)
    t.match(stdout, /left unchanged: another process has it, or changed it, or its member was erased/)
    const mended = { ...skipped, told: COUNT - 2, messages: COUNT - 2 }
    t.strictSame(await counts(world), mended)
    const [row] = await world.sql(`
    SELECT event_type, attempt_count, decision.party_locator, variables ->> 'locator' AS reference, "offset" IS NOT NULL AS placed,
      body LIKE '%CLM-7%' AS names
    FROM notifications.notification_log JOIN notifications.decision USING (locator, event_type)
    WHERE notification_log.event_id = 'event-7'`)
    t.strictSame(row, {
      event_type: 'claim.paid',
      attempt_count: 1,
      party_locator: 'party-7',
      reference: 'CLM-7',
      placed: true,
      names: true,
    })

    t.comment('once more, and with the checkpoints moved back')
    t.match(await command([...retry, ...BECAUSE], env), { stdout: /2 left unchanged/ })
    for (const replica of replicas) await replica.stop()
    await world.sql('UPDATE notifications.projection_checkpoints SET "offset" = -1')
    await start()
    await world.caughtUp()
    t.strictSame(await counts(world), mended)
    t.match(await command(['replay', '--verify'], env), { code: 0 })
    t.match(await command(['audit'], world.env), { code: 0 })
  },
)
