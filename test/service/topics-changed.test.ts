import t, { type Test } from 'tap'
import { deleteGroup, recreateTopic, withTransactions } from '../stack/topics.ts'
import { until } from '../stack/until.ts'
import { anEvent, aWorld, type World } from '../stack/world.ts'
import { rowCount } from './exactly-once.ts'

const skip = process.env.KAFKA_KIND === 'mock' && 'the mock broker has no topic administration'
// Each mostly waits for the broker.
t.jobs = 2

const publish = (world: World, count: number) =>
  world.publish(Array.from({ length: count }, () => ({ ...anEvent(), partition: 0 })))

/** A world whose service has processed so many messages of one partition, and was stopped. */
async function withDone(t: Test, count: number): Promise<World> {
  const world = await aWorld(t, { partitionCount: 1 })
  await publish(world, count)
  const service = await world.serve()
  await world.caughtUp()
  t.equal(await service.stop(), 0)
  return world
}

async function hasRows(t: Test, world: World, count: number): Promise<void> {
  await until(async () => (await rowCount(world)) === count, { what: `${count} rows` })
  await world.caughtUp()
  const [decided] = await world.sql('SELECT count(*)::int FROM notifications.decision')
  t.equal(decided?.count, count)
}

/** Commits a transaction of one event each, but for one; the end of each takes an offset too. */
function publishTransactions({ brokers, topics: { claims } }: World, count: number, abortedIndex: number) {
  return withTransactions(brokers, [claims], async ([producer]) => {
    for (let i = 0; i < count; i++) {
      const transaction = await producer?.transaction()
      await transaction?.send({ topic: claims, messages: [{ value: anEvent().value }] })
      await (i === abortedIndex ? transaction?.abort() : transaction?.commit())
    }
  })
}

t.test(
  'a topic created anew, with an aborted message where a message was, is read from its start',
  { skip, buffered: true },
  async (t) => {
    const world = await withDone(t, 9)
    await recreateTopic(world.brokers, world.topics.claims, 1)
    // Offset 8 is the message of the fifth transaction, which is aborted.
    await publishTransactions(world, 12, 4)
    const service = await world.serve()
    t.match(await service.logged(/is not the one that was processed: the topic was recreated/), {
      level: 'error',
    })
    await hasRows(t, world, 9 + 11)
  },
)

t.test(
  'a group whose offsets Kafka has lost goes on from the checkpoint',
  { skip, buffered: true },
  async (t) => {
    const world = await withDone(t, 10)
    // A stop does not wait for ever to leave it: then it has a member until the session ends.
    await until(() => deleteGroup(world.brokers, world.groupId).then(() => true), {
      what: 'the group to be empty and deleted',
    })
    await publish(world, 5)
    const service = await world.serve()
    await hasRows(t, world, 15)
    t.notOk(service.lines.some(({ msg }) => /was recreated|messages are lost/.test(msg)))
  },
)
