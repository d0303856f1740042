import pg from 'pg'
import type { Test } from 'tap'
import { backlog } from './backlog.ts'
import { createMigratedDatabase } from './databases.ts'
import { startPolicyAdministration } from './policy-administration.ts'
import { type Service, serveHere, startService } from './service.ts'
import { createTopics, endOffsets, produce, type TestMessage, TOPIC_NAMES, type TopicName } from './topics.ts'
import { until } from './until.ts'

export type World = Awaited<ReturnType<typeof createWorld>>

/**
 * The service's surroundings for one test file: its own database, three topics and policy administration, on the stack that
 * runs (`DATABASE_URL`, `MQ_BROKERS`), or on another broker or server.
 */
export async function createWorld({
  partitionCount = 2,
  brokers = process.env.MQ_BROKERS,
  serverUrl,
}: {
  partitionCount?: number
  brokers?: string | undefined
  serverUrl?: string
} = {}) {
  if (!brokers)
    throw new Error('MQ_BROKERS is not set: run the tests by `make test`, or under test/stack/with-stack.ts')
  const [database, topics, policyAdministration] = await Promise.all([
    createMigratedDatabase(serverUrl),
    createTopics(brokers, partitionCount),
    startPolicyAdministration(),
  ])
  const pool = new pg.Pool({ connectionString: database.url, max: 2 })
  pool.on('error', () => {})
  const services: Service[] = []
  const added = <Started extends Service>(service: Started): Started => {
    services.push(service)
    return service
  }
  const groupId = topics.claims.replace('claims', 'group')
  const env: Record<string, string> = {
    DATABASE_URL: database.url,
    MQ_BROKERS: brokers,
    MQ_TOPICS: Object.values(topics).join(','),
    MQ_GROUP_ID: groupId,
    POLICY_ADMIN_URL: policyAdministration.url,
    MQ_SESSION_TIMEOUT: '6s',
    HOST: '127.0.0.1',
    PORT: '0',
  }
  const sql = async (query: string, values?: unknown[]): Promise<pg.QueryResultRow[]> =>
    (await pool.query(query, values)).rows

  return {
    databaseUrl: database.url,
    brokers,
    groupId,
    /** The real names of the topics. */
    topics,
    policyAdministration,
    /** The service's environment. */
    env,
    sql,
    /** Runs the service, once more if it runs already, in this process. It is stopped with the world. */
    serve: async (more: Record<string, string> = {}) => added(await serveHere({ ...env, ...more })),
    /** The same by a `serve` process, for tests that end it or need its options. */
    spawn: async (more: Record<string, string> = {}) => added(await startService({ ...env, ...more })),
    publish: (messages: (Omit<TestMessage, 'topic'> & { topic?: TopicName })[]): Promise<void> =>
      produce(
        brokers,
        messages.map((message) => ({ ...message, topic: topics[message.topic ?? 'claims'] })),
      ),
    /** Waits until every message that was published is behind its checkpoint. */
    caughtUp: async (): Promise<void> => {
      for (const topic of Object.values(topics)) {
        const ends = await endOffsets(brokers, topic)
        await until(async () => (await backlog(sql, topic, ends)) === 0, {
          what: `the checkpoints of ${topic} to reach ${JSON.stringify(ends)}`,
        })
      }
    },
    close: async (): Promise<void> => {
      await Promise.all(services.map((service) => service.stop()))
      await pool.end()
      await policyAdministration.stop()
      await database.drop()
    },
  }
}

/** One that is closed with its test. */
export async function aWorld(t: Test, options?: Parameters<typeof createWorld>[0]): Promise<World> {
  const world = await createWorld(options)
  t.teardown(() => world.close())
  return world
}

let eventCount = 0

/** The value of an event that nothing is wrong with, but for what the test says. */
export function anEvent(envelope: Record<string, unknown> = {}): { eventId: string; value: string } {
  const eventId =
    typeof envelope.eventId === 'string' ? envelope.eventId : `event-${process.pid}-${eventCount++}`
  const value = JSON.stringify({
    eventId,
    eventType: 'claim.paid',
    occurredAt: '2026-01-31T12:00:00Z',
    partyLocator: 'party-1',
    payload: { locator: 'CLM-1' },
    ...envelope,
  })
  return { eventId, value }
}

/** Events of as many parties, spread evenly over the partitions of all three topics. */
export function manyEvents(count: number, partitionCount: number, partyCount = 200) {
  return Array.from({ length: count }, (_, i) => ({
    ...anEvent({ partyLocator: `party-${i % partyCount}` }),
    topic: TOPIC_NAMES[i % 3] ?? 'claims',
    partition: Math.floor(i / 3) % partitionCount,
  }))
}
