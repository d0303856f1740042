import t from 'tap'
import { anEvent, aWorld } from '../stack/world.ts'
import { rowCount } from './exactly-once.ts'

const world = await aWorld(t)

t.test(
  'commits that a database lost under a running service are repeated, even without a new message',
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
