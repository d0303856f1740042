import t from 'tap'
import { anEvent, aWorld } from '../stack/world.ts'
import { rowCount } from './exactly-once.ts'

const world = await aWorld(t)

t.test(
  'what a database has lost beneath a running service comes again, also where no new message does',
  async (t) => {
    await world.serve()
    await world.publish(Array.from({ length: 20 }, (_, i) => ({ ...anEvent(), partition: i % 2 })))
    await world.caughtUp()
    t.equal(await rowCount(world), 20)
    await world.sql(`
    BEGIN;
    TRUNCATE notifications.notification_log, notifications.decision;
    UPDATE notifications.projection_checkpoints SET "offset" = -1;
    COMMIT`)
    await world.caughtUp()
    t.equal(await rowCount(world), 20)
  },
)

t.test('a batch that decompresses to many times its size is processed in pieces', async (t) => {
  const before = await rowCount(world)
  const reason = 'x'.repeat(900_000)
  const large = Array.from({ length: 30 }, () => ({
    ...anEvent({ eventType: 'claim.rejected', payload: { locator: 'CLM-1', reason } }),
    partition: 0,
  }))
  const noEvents = Array.from({ length: 30 }, () => ({ value: reason, partition: 0 }))
  await world.publish([...large, ...noEvents], { compression: 1 })
  await world.caughtUp()
  t.equal(await rowCount(world), before + 30)
  const [rejected] = await world.sql('SELECT count(*)::integer AS count FROM notifications.rejected_message')
  t.equal(rejected?.count, 30)
})
