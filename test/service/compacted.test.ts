import t from 'tap'
import { compact, keptOffsets } from '../stack/topics.ts'
import { until } from '../stack/until.ts'
import { anEvent, aWorld } from '../stack/world.ts'
import { eachOnce } from './exactly-once.ts'

const skip = process.env.KAFKA_KIND === 'mock' && 'the mock broker has no topic administration'

t.test('a compacted topic is read without gaps, doubles or false alarms', { skip }, async (t) => {
  const world = await aWorld(t, { partitionCount: 1 })
  await compact(world.brokers, world.topics.claims)
  const events: { eventId: string; value: string }[] = []
  /** One event for each key, in one record batch. */
  const publish = async (...keys: string[]) => {
    const batch = keys.map((key) => ({ ...anEvent(), key, partition: 0 }))
    events.push(...batch)
    await world.publish(batch)
  }
  const isCompacted = (kept: number[]) =>
    until(async () => String(await keptOffsets(world.brokers, world.topics.claims)) === String(kept), {
      what: `the broker to keep ${kept} only`,
      intervalMs: 500,
    })
  /** Runs the service until it has caught up; returns the alarms that it gave. */
  const alarmsOfOneRun = async () => {
    const service = await world.serve()
    await world.caughtUp()
    t.equal(await service.stop(), 0)
    return service.lines.map(({ msg }) => msg).filter((msg) => /was recreated|messages are lost/.test(msg))
  }

  await publish('a', 'b', 'a', 'b', 'c', 'a')
  await publish('a', 'b', 'd')
  await publish('e', 'f')
  await isCompacted([4, 6, 7, 8, 9, 10])
  t.same(await alarmsOfOneRun(), [])
  const first = [4, 6, 7, 8, 9, 10]
  await eachOnce(
    t,
    world,
    events.filter((_, offset) => first.includes(offset)),
  )

  const [checkpoint] = await world.sql(
    `SELECT checkpoint::int, "offset"::int AS message FROM notifications.checkpoint_message`,
  )
  t.same(checkpoint, { checkpoint: 10, message: 10 })
  await publish('f', 'g')
  await publish('h')
  await isCompacted([4, 6, 7, 8, 9, 11, 12, 13])
  t.same(await alarmsOfOneRun(), [], 'nor where the last processed message is gone')
  await eachOnce(
    t,
    world,
    events.filter((_, offset) => [...first, 11, 12, 13].includes(offset)),
  )
})
