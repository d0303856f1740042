import { randomBytes } from 'node:crypto'
import t from 'tap'
import { until } from '../stack/until.ts'
import { anEvent, aWorld } from '../stack/world.ts'

const REFUSED_COUNT = 2_000
/** As many as the broker takes at once. */
const PUBLISHED_COUNT = 100
/** On a busy machine they take a third of it. */
const PATIENCE_MS = 90_000
/** Large enough that parsing a whole batch once for each of them would take minutes. */
const REFERENCE_BYTES = 3_300

t.test('events that the database refuses hold up no other event', async (t) => {
  const world = await aWorld(t, { partitionCount: 1 })
  await world.sql(`
    ALTER TABLE notifications.decision
    ADD CONSTRAINT trap CHECK (event_id NOT LIKE 'refused-%') NOT VALID`)
  const refused = Array.from({ length: REFUSED_COUNT }, (_, i) =>
    anEvent({
      eventId: `refused-${i}`,
      payload: { locator: randomBytes(REFERENCE_BYTES).toString('hex') },
    }),
  )
  const sound = anEvent()
  for (let start = 0; start < REFUSED_COUNT; start += PUBLISHED_COUNT)
    await world.publish(refused.slice(start, start + PUBLISHED_COUNT))
  await world.publish([sound])
  await world.serve()
  await until(async () => (await world.sql('SELECT FROM notifications.notification_log')).length === 1, {
    what: 'the sound event behind them to have its row',
    timeoutMs: PATIENCE_MS,
  })
  const [{ count } = {}] = await world.sql(
    `SELECT count(*)::int AS count FROM notifications.rejected_message WHERE code = 'refused-by-database'`,
  )
  t.equal(count, REFUSED_COUNT)
})
