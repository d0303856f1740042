import type { Admin } from 'kafkajs'
import type { Logger } from 'pino'
import type { BrokerConnection } from '../config/config.ts'
import { createClient } from './client.ts'

/** How many brokers the cluster has; rejects where none of those named can be reached, or none lets us in. */
export function countBrokers(connection: BrokerConnection, clientId: string, log: Logger): Promise<number> {
  return withAdmin(connection, clientId, log, async (admin) => (await admin.describeCluster()).brokers.length)
}

/** Names of the topics that the log-in of this connection may see. */
export function listTopics(connection: BrokerConnection, clientId: string, log: Logger): Promise<string[]> {
  return withAdmin(connection, clientId, log, (admin) => admin.listTopics())
}

async function withAdmin<T>(
  connection: BrokerConnection,
  clientId: string,
  log: Logger,
  use: (admin: Admin) => Promise<T>,
): Promise<T> {
  const admin = createClient(connection, clientId, log).admin()
  try {
    await admin.connect()
    return await use(admin)
  } finally {
    await admin.disconnect()
  }
}
