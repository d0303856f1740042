import { setTimeout as sleep } from 'node:timers/promises'
import { produce } from '../stack/topics.ts'
import type { Burst } from './load.ts'
import type { Stack } from './stack.ts'

const RETRY_MS = 500

/**
 * Publishes each burst at its time, in order. One whose outcome is uncertain is published again, whole: the broker may
 * then have it twice, never not at all. Returns how many messages there were.
 */
export async function publishAll({ kafka, topics }: Stack, bursts: readonly Burst[]): Promise<number> {
  const startedMs = performance.now()
  let count = 0
  for (const { atMs, messages } of bursts) {
    await sleep(Math.max(atMs - (performance.now() - startedMs), 0))
    const records = messages.map((message) => ({ ...message, topic: topics[message.topic] }))
    for (let isThere = false; !isThere; ) {
      isThere = await produce(kafka.brokers, records).then(
        () => true,
        () => sleep(RETRY_MS, false),
      )
    }
    count += messages.length
  }
  return count
}
