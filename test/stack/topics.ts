import { randomBytes } from 'node:crypto'
import kafkajs, { type AclEntry, type Admin, type IHeaders, type KafkaConfig, type Producer } from 'kafkajs'
import { patchRequestQueue } from '../../src/service/consume/kafka-client.ts'
import { until } from './until.ts'

export const TOPIC_NAMES = ['claims', 'billing', 'enrollment'] as const
export type TopicName = (typeof TOPIC_NAMES)[number]
/** The real names of the topics. */
export type Topics = Record<TopicName, string>

export interface TestMessage {
  topic: string
  /** Left out: by hash of the key, or any. */
  partition?: number
  key?: string | Buffer | null
  /** null is a tombstone. */
  value: string | Buffer | null
  headers?: IHeaders
  /** In ms since 1970; by default the time of publishing. */
  timestamp?: string
}

export interface Right {
  readonly username: string
  readonly operation: 'READ' | 'DESCRIBE'
  readonly on?: 'TOPIC' | 'GROUP'
}

/** By partition number. */
export type Offsets = Record<number, number>

// Node would warn of a timer of kafkajs's on everybody's screen.
patchRequestQueue()

export function chooseTopic(eventType: string): TopicName {
  if (eventType.startsWith('claim.')) return 'claims'
  return eventType.startsWith('policy.') ? 'enrollment' : 'billing'
}

/**
 * Makes the service's topics, with that many partitions each, under unique names. Returns these by the plain names.
 * @param replicated topics with three replicas, of which two must have a message before its producer is answered
 */
export async function createTopics(
  brokers: string,
  partitionCount: number,
  replicated: readonly TopicName[] = [],
): Promise<Topics> {
  const suffix = randomBytes(4).toString('hex')
  const unique = Object.fromEntries(TOPIC_NAMES.map((name) => [name, `${name}-${suffix}`])) as Topics
  const isReplicated = (name: string) => replicated.some((plain) => unique[plain] === name)
  await ensureTopics(brokers, Object.values(unique), partitionCount, isReplicated)
  return unique
}

const REPLICATED = {
  replicationFactor: 3,
  configEntries: [{ name: 'min.insync.replicas', value: '2' }],
}

/** A controller that is busy takes longer than kafkajs's 5 s. */
const CONTROLLER_MS_MAX = 25_000

/**
 * Makes the topics that do not exist yet, with that many partitions each. The mock broker has no topic
 * administration: there each topic has 4 partitions.
 */
export async function ensureTopics(
  brokers: string,
  names: readonly string[],
  numPartitions: number,
  isReplicated: (name: string) => boolean = () => false,
): Promise<void> {
  await withAdmin(brokers, async (admin) => {
    try {
      const topics = names.map((topic) => ({ topic, numPartitions, ...(isReplicated(topic) && REPLICATED) }))
      await admin.createTopics({ topics, waitForLeaders: false, timeout: CONTROLLER_MS_MAX })
      // kafkajs's own wait gives up where a busy broker does not know the topic for a moment. A leader that does not serve all of its
      // partitions yet would be sent messages again, those that it has taken, too.
      const areServed = async () => {
        const offsets = await Promise.all(names.map((name) => admin.fetchTopicOffsets(name).catch(() => [])))
        return offsets.every(({ length }) => length > 0)
      }
      await until(areServed, { what: 'the leaders to serve the topics' })
    } catch (error) {
      // The mock has no controller. It makes a topic when it is asked for it.
      if ((error as Error).name !== 'KafkaJSBrokerNotFound') throw error
      await admin.fetchTopicMetadata({ topics: [...names] })
    }
  })
}

/** Deletes topics, and waits until the broker knows them no more: until then it would take messages for new ones of these names. */
export async function deleteTopics(brokers: string, topics: string[]): Promise<void> {
  await withAdmin(brokers, async (admin) => {
    await admin.deleteTopics({ topics, timeout: CONTROLLER_MS_MAX })
    const areGone = async () => !(await admin.listTopics()).some((topic) => topics.includes(topic))
    await until(areGone, { what: 'the broker to forget the topics' })
  })
}

/** From its first right on, a topic or group is closed to users without one. Only on a broker with an authorizer. */
export async function grant(brokers: string, name: string, right: Right): Promise<void> {
  await withAdmin(brokers, (admin) => admin.createAcls({ acl: [aclOf(name, right)] }))
}

export async function revoke(brokers: string, name: string, right: Right): Promise<void> {
  await withAdmin(brokers, (admin) => admin.deleteAcls({ filters: [aclOf(name, right)] }))
}

function aclOf(resourceName: string, { username, operation, on = 'TOPIC' }: Right): AclEntry {
  return {
    resourceType: kafkajs.AclResourceTypes[on],
    resourceName,
    resourcePatternType: kafkajs.ResourcePatternTypes.LITERAL,
    principal: `User:${username}`,
    host: '*',
    operation: kafkajs.AclOperationTypes[operation],
    permissionType: kafkajs.AclPermissionTypes.ALLOW,
  }
}

/** Publishes and waits until the broker has them: the messages of one partition go out as one batch, in order. */
export async function produce(
  brokers: string,
  messages: TestMessage[],
  options: Partial<KafkaConfig> = {},
): Promise<void> {
  const producer = client(brokers, options).producer({
    allowAutoTopicCreation: false,
    createPartitioner: kafkajs.Partitioners.DefaultPartitioner,
  })
  const byTopic = Map.groupBy(messages, (message) => message.topic)
  const topicMessages = [...byTopic].map(([topic, ofTopic]) => ({
    topic,
    messages: ofTopic.map(({ topic: _, ...message }) => message),
  }))
  await producer.connect()
  try {
    const sent = await producer.sendBatch({ topicMessages })
    // kafkajs sends nothing, in silence, to a partition that its broker does not know yet.
    for (const { topic, partition } of messages)
      if (
        partition !== undefined &&
        !sent.some((one) => one.topicName === topic && one.partition === partition)
      )
        throw new Error(`the broker has no partition ${partition} of ${topic} yet`)
  } finally {
    await producer.disconnect()
  }
}

/** Lets producers of transactions publish, one for each id, until `use` has ended. */
export async function withTransactions<T>(
  brokers: string,
  ids: readonly string[],
  use: (producers: readonly Producer[]) => Promise<T>,
): Promise<T> {
  const producers = ids.map((transactionalId) =>
    client(brokers).producer({ transactionalId, maxInFlightRequests: 1, idempotent: true }),
  )
  await Promise.all(producers.map((producer) => producer.connect()))
  try {
    return await use(producers)
  } finally {
    await Promise.all(producers.map((producer) => producer.disconnect()))
  }
}

/** Offset of the next message to come, by partition. */
export async function endOffsets(brokers: string, topic: string): Promise<Offsets> {
  return withAdmin(brokers, async (admin) =>
    Object.fromEntries(
      (await admin.fetchTopicOffsets(topic)).map(({ partition, high }) => [partition, Number(high)]),
    ),
  )
}

/** Offset at which the group would go on, by partition; −1 where it has committed none. */
export async function committedOffsets(brokers: string, group: string, topic: string): Promise<Offsets> {
  return withAdmin(brokers, async (admin) => {
    const [fetched] = await admin.fetchOffsets({ groupId: group, topics: [topic] })
    return Object.fromEntries(
      (fetched?.partitions ?? []).map(({ partition, offset }) => [partition, Number(offset)]),
    )
  })
}

/** Resolves to true if an admin client gets the cluster's description; rejects otherwise. */
export async function answers(brokers: string): Promise<boolean> {
  return withAdmin(brokers, describesItself, AT_ONCE)
}

/**
 * Resolves to true if consumer groups have their coordinator too; rejects otherwise. The first question creates the
 * broker's internal topic, for which the first consumer would otherwise wait, backing off for seconds.
 */
export async function answersGroups(brokers: string): Promise<boolean> {
  const hasGroups = async (admin: Admin) => (await admin.describeGroups(['none'])).groups.length > 0
  return withAdmin(brokers, async (admin) => (await describesItself(admin)) && hasGroups(admin), AT_ONCE)
}

const AT_ONCE = { connectionTimeout: 1_000, retry: { retries: 0 } }

async function describesItself(admin: Admin): Promise<boolean> {
  return (await admin.describeCluster()).brokers.length > 0
}

export async function withAdmin<T>(
  brokers: string,
  work: (admin: Admin) => Promise<T>,
  options: Partial<KafkaConfig> = {},
): Promise<T> {
  const admin = client(brokers, options).admin()
  try {
    await admin.connect()
    return await work(admin)
  } finally {
    await admin.disconnect()
  }
}

function client(brokers: string, options: Partial<KafkaConfig> = {}): kafkajs.Kafka {
  return new kafkajs.Kafka({
    ...options,
    clientId: 'test',
    brokers: brokers.split(','),
    logLevel: kafkajs.logLevel.NOTHING,
  })
}
