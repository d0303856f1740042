import type { Admin } from 'kafkajs'
import type { Logger } from 'pino'
import type { BrokerConnection } from '../config/config.ts'
import { createClient } from './client.ts'

export interface EndsReader {
  /** The first offset that the broker still has, and the one after its last, by topic and partition number. */
  endsOf(topics: readonly string[]): Promise<Map<string, Map<number, { earliest: bigint; end: bigint }>>>
  /** The first offset of a message that is not older than this, else the end, by partition number. */
  firstSince(topic: string, timestampMs: number): Promise<Map<number, bigint>>
  close(): Promise<void>
}

/** Asks the broker how far its partitions reach, on a connection of its own, opened by the first question. */
export function createEndsReader(connection: BrokerConnection, clientId: string, log: Logger): EndsReader {
  // Whatever prevents an answer also stops the consumer, which logs it.
  const kafka = createClient(connection, clientId, log.child({}, { level: 'error' }))
  let connecting: Promise<Admin> | null = null

  function admin(): Promise<Admin> {
    connecting ??= connect().catch((error) => {
      connecting = null
      throw error
    })
    return connecting
  }

  async function connect(): Promise<Admin> {
    const connected = kafka.admin()
    await connected.connect()
    return connected
  }

  return {
    endsOf: async (topics) => {
      const connected = await admin()
      if (topics.length === 0) await connected.describeCluster()
      const ends = topics.map(async (topic) => {
        const offsets = await connected.fetchTopicOffsets(topic)
        return [
          topic,
          new Map(
            offsets.map(({ partition, low, high }) => [
              partition,
              { earliest: BigInt(low), end: BigInt(high) },
            ]),
          ),
        ] as const
      })
      return new Map(await Promise.all(ends))
    },
    firstSince: async (topic, timestampMs) => {
      const offsets = await (await admin()).fetchTopicOffsetsByTimestamp(topic, timestampMs)
      return new Map(offsets.map(({ partition, offset }) => [partition, BigInt(offset)]))
    },
    close: async () => {
      await connecting?.then((connected) => connected.disconnect()).catch(() => {})
    },
  }
}
