import kafkajs from 'kafkajs'
import t from 'tap'
import { until } from '../stack/until.ts'
import { aWorld } from '../stack/world.ts'
import { command } from './command.ts'

const SKIP_MOCK = process.env.KAFKA_KIND === 'mock' && 'the mock broker keeps no offsets of groups'

/** What `doctor` says of a check. */
async function check(name: string, env: Record<string, string>) {
  const { stdout } = await command(['doctor', '--json'], env)
  return JSON.parse(stdout).checks.find((one: { name: string }) => one.name === name)
}

t.test("a group of another program's protocol is named as such", { skip: SKIP_MOCK }, async (t) => {
  const world = await aWorld(t)
  const java = new kafkajs.Kafka({ brokers: [world.brokers], logLevel: kafkajs.logLevel.NOTHING }).consumer({
    groupId: world.groupId,
    partitionAssigners: [
      (config) => ({ ...kafkajs.PartitionAssigners.roundRobin(config), ...asRange(config) }),
    ],
  })
  const joined = new Promise((resolve) => java.on('consumer.group_join', resolve))
  await java.connect()
  t.teardown(() => java.disconnect())
  await java.subscribe({ topics: Object.values(world.topics) })
  await java.run({ eachMessage: async () => {} })
  await joined
  const remedy = `another program uses the consumer group ${world.groupId}: choose another MQ_GROUP_ID`
  const found = await until(
    async () => {
      const one = await check('consumer group', world.env)
      return one.remedy === remedy && one
    },
    { what: 'the remedy' },
  )
  t.match(found, { status: 'failed', detail: /\(consumer\/range\)/ })
  const service = await world.serve()
  await service.logged(new RegExp(`^waiting for the broker.*${remedy}`))
})

/** Named like the assigner of a Java consumer. */
function asRange(config: Parameters<typeof kafkajs.PartitionAssigners.roundRobin>[0]) {
  const { protocol } = kafkajs.PartitionAssigners.roundRobin(config)
  return {
    name: 'range',
    protocol: (subscription: { topics: string[] }) => ({ ...protocol(subscription), name: 'range' }),
  }
}
