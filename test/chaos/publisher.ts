import { setTimeout as sleep } from 'node:timers/promises'
import { produce, type TestMessage } from '../stack/topics.ts'
import type { Burst } from './load.ts'
import type { Stack } from './stack.ts'

const RETRY_MS = 500

/** Publishes each burst at its time, in order. Returns how many messages there were. */
export async function publishAll({ kafka, topics }: Stack, bursts: readonly Burst[]): Promise<number> {
  const startedMs = performance.now()
  let count = 0
  for (const { atMs, messages } of bursts) {
    await sleep(Math.max(atMs - (performance.now() - startedMs), 0))
    const records = messages.map((message) => ({ ...message, topic: topics[message.topic] }))
    await publish(kafka.brokers, records)
    count += messages.length
  }
  return count
}

/**
 * Where the outcome is uncertain, as while the broker is down, all are published again: the broker may then have them
 * twice, never not at all.
 */
export async function publish(brokers: string, messages: TestMessage[]): Promise<void> {
  for (let areThere = false; !areThere; ) {
    areThere = await produce(brokers, messages).then(
      () => true,
      () => sleep(RETRY_MS, false),
    )
  }
}
