import kafkajs, { type Admin } from 'kafkajs'
import { patchRequestQueue } from '../../../src/kafka/client.ts'

/** Whether an admin client gets the cluster's description; rejects when it does not. */
export async function answers(brokers: string): Promise<boolean> {
  return withAdmin(brokers, describesItself)
}

/**
 * Whether consumer groups have their coordinator too; rejects while they have not. The first question makes the
 * broker's internal topic, for which the first consumer would otherwise wait, backing off for seconds.
 */
export async function answersGroups(brokers: string): Promise<boolean> {
  return withAdmin(
    brokers,
    async (admin) =>
      (await describesItself(admin)) && (await admin.describeGroups(['none'])).groups.length > 0,
  )
}

async function describesItself(admin: Admin): Promise<boolean> {
  return (await admin.describeCluster()).brokers.length > 0
}

async function withAdmin<T>(brokers: string, ask: (admin: Admin) => Promise<T>): Promise<T> {
  // Node would warn of a timer of kafkajs's on everybody's screen.
  patchRequestQueue()
  const kafka = new kafkajs.Kafka({
    brokers: brokers.split(','),
    connectionTimeout: 1_000,
    retry: { retries: 0 },
    logLevel: kafkajs.logLevel.NOTHING,
  })
  const admin = kafka.admin()
  try {
    await admin.connect()
    return await ask(admin)
  } finally {
    await admin.disconnect()
  }
}
