import pg from 'pg'
import { createMigratedDatabase, type Database } from '../stack/databases.ts'
import { numberFrom } from '../stack/environment.ts'
import { createTopics, type Topics } from '../stack/topics.ts'
import type { Contacts } from './contacts.ts'
import { insertPreferences } from './parties.ts'
import type { Running, Side } from './sides.ts'

/** The resources of one run. */
export interface Arena {
  readonly databaseUrl: string
  readonly client: pg.Client
  /** The real names of the topics. */
  readonly topics: Topics
  /** Starts another process of a side; all are stopped at the end. */
  start(side: Side): Promise<Running>
}

/** Number of partitions of each topic. */
const PARTITION_COUNT = numberFrom('PARTITIONS', 3)

/**
 * Creates topics and a database with the parties' preferences, which is dropped at the end. `open` may return an existing
 * database instead.
 */
export async function inArena<T>(
  brokers: string,
  contacts: Contacts,
  use: (arena: Arena) => Promise<T>,
  open: () => Promise<Database> = createMigratedDatabase,
): Promise<T> {
  const [database, topics] = await Promise.all([open(), createTopics(brokers, PARTITION_COUNT)])
  const client = new pg.Client(database.url)
  await client.connect()
  const started: Running[] = []
  const start = async (side: Side) => {
    const running = await side.start({
      DATABASE_URL: database.url,
      MQ_BROKERS: brokers,
      MQ_TOPICS: Object.values(topics).join(','),
      MQ_GROUP_ID: topics.claims.replace('claims', side.name),
      POLICY_ADMIN_URL: contacts.url,
    })
    started.push(running)
    return running
  }
  try {
    await insertPreferences(client)
    return await use({ databaseUrl: database.url, client, topics, start })
  } finally {
    await Promise.all(started.map((running) => running.stop()))
    await client.end()
    await database.drop()
  }
}
