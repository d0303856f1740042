import kafkajs from 'kafkajs'

/** Whether an admin client gets the cluster's description; rejects when it does not. */
export async function answers(brokers: string): Promise<boolean> {
  const kafka = new kafkajs.Kafka({
    brokers: brokers.split(','),
    connectionTimeout: 1_000,
    retry: { retries: 0 },
    logLevel: kafkajs.logLevel.NOTHING,
  })
  const admin = kafka.admin()
  try {
    await admin.connect()
    return (await admin.describeCluster()).brokers.length > 0
  } finally {
    await admin.disconnect()
  }
}
