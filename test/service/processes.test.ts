import t from 'tap'
import type { Service } from '../stack/service.ts'
import { until } from '../stack/until.ts'
import { anEvent, aWorld, type TopicName, type World } from '../stack/world.ts'
import { eachOnce, manyEvents, repeated, rowCount, watchCheckpoints } from './exactly-once.ts'

const PARTITION_COUNT = 4
const SKIP_MOCK = process.env.KAFKA_KIND === 'mock' && 'the mock broker does not rebalance like a real one'

// They mostly wait for a session to end.
t.jobs = 2

/** The partitions that a process was last given, by the names of their topics. */
function assignmentOf(service: Service): Record<string, number[]> {
  const joins = service.lines.filter(({ msg }) => msg === 'joined the consumer group')
  return (joins.at(-1)?.assignment ?? {}) as Record<string, number[]>
}
const partitionCountOf = (service: Service) => Object.values(assignmentOf(service)).flat().length

/** Two processes that share the partitions evenly. */
async function aPair(world: World, env: Record<string, string>): Promise<[Service, Service]> {
  const pair: [Service, Service] = await Promise.all([world.serve(env), world.serve(env)])
  await until(() => pair.every((service) => partitionCountOf(service) === (3 * PARTITION_COUNT) / 2), {
    what: 'both processes to share the partitions',
  })
  return pair
}

t.test(
  'a process that is killed in the middle and started again loses and doubles nothing',
  { skip: SKIP_MOCK, buffered: true },
  async (t) => {
    const world = await aWorld(t, { partitionCount: PARTITION_COUNT })
    await watchCheckpoints(world)
    const events = manyEvents(10_000, PARTITION_COUNT)
    const all = [...events, ...repeated(events, 10, PARTITION_COUNT)]
    const [victim] = await aPair(world, { BATCH_MAX: '50' })
    await world.publish(all)
    await until(async () => (await rowCount(world)) > 1_000, {
      what: 'the work to be under way',
      intervalMs: 10,
    })
    victim.kill('SIGKILL')
    t.match(await victim.exited, { signal: 'SIGKILL' })
    t.ok((await rowCount(world)) < 9_900, 'it was killed in the middle')
    await world.serve({ BATCH_MAX: '50' })
    await world.caughtUp()
    await eachOnce(t, world, all)
  },
)

t.test(
  'a process that sleeps past its session wakes up as a stranger and harms nothing',
  { skip: SKIP_MOCK, buffered: true },
  async (t) => {
    const world = await aWorld(t, { partitionCount: PARTITION_COUNT })
    await watchCheckpoints(world)
    const [zombie, heir] = await aPair(world, { POLICY_ADMIN_DEADLINE: '8s' })
    const [topicName = '', [partition = 0] = []] = Object.entries(assignmentOf(zombie))[0] ?? []
    const topic = topicName.replace(/-.*/, '') as TopicName
    const { policyAdministration } = world

    // The zombie falls asleep while it waits for a contact: its batch is read, and not yet committed.
    const first = { ...anEvent({ partyLocator: 'hanging-1' }), topic, partition }
    await world.publish([first])
    await until(() => policyAdministration.requests.paths.some((path) => path.includes('hanging-1')), {
      what: 'the look-up to be under way',
    })
    zombie.kill('SIGSTOP')
    policyAdministration.set('hanging-1', { email: 'a@example.com', phone: null })
    const others = manyEvents(3_000, PARTITION_COUNT)
    await world.publish(others)
    await world.caughtUp()
    t.equal(partitionCountOf(heir), 3 * PARTITION_COUNT, 'the other took over')

    const joinCount = zombie.lines.filter(({ msg }) => msg === 'joined the consumer group').length
    zombie.kill('SIGCONT')
    await until(
      () => zombie.lines.filter(({ msg }) => msg === 'joined the consumer group').length > joinCount,
      { what: 'the zombie to join again' },
    )
    await until(
      () => [zombie, heir].every((service) => partitionCountOf(service) === (3 * PARTITION_COUNT) / 2),
      {
        what: 'the zombie to have its share of the partitions again',
      },
    )
    const more = manyEvents(300, PARTITION_COUNT)
    await world.publish(more)
    await world.caughtUp()
    await eachOnce(t, world, [first, ...others, ...more])
    t.match(
      await world.sql(`SELECT status FROM notifications.notification_log WHERE event_id = $1`, [
        first.eventId,
      ]),
      [{ status: 'SENT' }],
    )
  },
)
