import type { TopicPartitionOffset } from 'kafkajs'
import type { Logger } from 'pino'

/** Each request costs the broker as much as a hundred events; those who watch the lag look far less often. */
const INTERVAL_MS = 1_000

/**
 * Tells Kafka how far the group has come, for tools that show its lag: best effort, since the database decides. All
 * partitions that moved go into one request.
 */
export function createOffsetReports(commit: (offsets: TopicPartitionOffset[]) => Promise<void>, log: Logger) {
  const waiting = new Map<string, TopicPartitionOffset>()
  let timer: NodeJS.Timeout | undefined
  let committed: Promise<void> = Promise.resolve()

  /** Resolves once all reported offsets are committed or their commit has failed. */
  function flush(): Promise<void> {
    clearTimeout(timer)
    timer = undefined
    const offsets = [...waiting.values()]
    waiting.clear()
    if (offsets.length > 0) {
      committed = committed
        .then(() => commit(offsets))
        .catch((error) => log.debug({ err: error, offsets }, 'could not commit the offsets to Kafka'))
    }
    return committed
  }

  return {
    flush,
    /** Drops offsets that are not committed yet. */
    clear: () => waiting.clear(),
    /** `next` is the offset at which the group goes on. Nobody waits for it to be told. */
    report(topic: string, partition: number, next: bigint): void {
      waiting.set(`${topic}/${partition}`, { topic, partition, offset: String(next) })
      timer ??= setTimeout(flush, INTERVAL_MS).unref()
    },
  }
}
