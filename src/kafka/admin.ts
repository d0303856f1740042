import type { Admin, Kafka } from 'kafkajs'
import type { Ends } from '../core/batch/position.ts'
import { settled } from './settled.ts'

/** How long the end waits for the brokers to be disconnected from. */
const DISCONNECT_WAIT_MS = 2_000

/** Connects for as long as `use` takes. Rejects once the signal aborts while it connects; `use` sees to the rest. */
export async function withAdmin<T>(
  kafka: Kafka,
  signal: AbortSignal,
  use: (admin: Admin) => Promise<T>,
): Promise<T> {
  const admin = kafka.admin()
  try {
    await Promise.race([admin.connect(), aborted(signal)])
    return await use(admin)
  } finally {
    await settled(admin.disconnect(), DISCONNECT_WAIT_MS)
  }
}

function aborted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    signal.addEventListener('abort', () => reject(new Error('stopped')), { once: true })
  })
}

export async function offsetsOf(admin: Admin, topic: string, partition: number): Promise<Ends> {
  const offsets = await admin.fetchTopicOffsets(topic)
  const found = offsets.find((candidate) => candidate.partition === partition)
  if (found === undefined) throw new Error(`the broker has no partition ${partition} of topic ${topic}`)
  return { earliest: BigInt(found.low), end: BigInt(found.high) }
}
