import { setTimeout as sleep } from 'node:timers/promises'
import kafkajs from 'kafkajs'
import { PARTITION_COUNT } from './arena.ts'
import type { BenchEvent, TopicName } from './events.ts'

/** By `topic/partition`: the scheduled time of each message, in the order of offsets. */
export type Schedule = ReadonlyMap<string, readonly number[]>

const TICK_MS = 5
/** A request may carry 1 MB for each partition. */
const SEND_COUNT_MAX = 2_000

/** Publishes events into fresh topics, of which it is the only producer. */
export async function createPublisher(brokers: string, topics: Record<TopicName, string>) {
  const kafka = new kafkajs.Kafka({ brokers: brokers.split(','), logLevel: kafkajs.logLevel.NOTHING })
  const producer = kafka.producer({ allowAutoTopicCreation: false })
  await producer.connect()
  const schedule = new Map<string, number[]>()

  async function send(events: readonly BenchEvent[], dueMs: (index: number) => number): Promise<void> {
    const byTopic = new Map<string, { key: string; value: string; partition: number }[]>()
    for (const [i, { topic, key, value }] of events.entries()) {
      const name = topics[topic]
      const partition = Number(key.slice(-6)) % PARTITION_COUNT
      append(byTopic, name, { key, value, partition })
      append(schedule, `${name}/${partition}`, dueMs(i))
    }
    const topicMessages = [...byTopic].map(([topic, messages]) => ({ topic, messages }))
    await producer.sendBatch({ topicMessages })
  }

  return {
    schedule: schedule as Schedule,
    /** Publishes all messages as fast as the broker accepts them. */
    publish: async (events: readonly BenchEvent[]): Promise<void> => {
      for (let first = 0; first < events.length; first += SEND_COUNT_MAX)
        await send(events.slice(first, first + SEND_COUNT_MAX), () => performance.now())
    },
    /** Publishes each message at its scheduled time; after a slow request, the next one contains more messages. */
    publishAtRate: async (events: readonly BenchEvent[], eventsPerSecond: number): Promise<void> => {
      const startMs = performance.now()
      const dueMs = (index: number) => startMs + (index * 1_000) / eventsPerSecond
      for (let sent = 0; sent < events.length; ) {
        const dueCount = Math.ceil(((performance.now() - startMs) * eventsPerSecond) / 1_000)
        const first = sent
        sent = Math.min(dueCount, events.length)
        if (sent > first) await send(events.slice(first, sent), (i) => dueMs(first + i))
        await sleep(TICK_MS)
      }
    },
    close: () => producer.disconnect(),
  }
}

function append<Item>(lists: Map<string, Item[]>, key: string, item: Item): void {
  const list = lists.get(key)
  if (list === undefined) lists.set(key, [item])
  else list.push(item)
}
