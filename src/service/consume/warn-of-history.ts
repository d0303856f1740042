import type { Logger } from 'pino'
import { partitionKey, type TopicPartition } from '../decide/event/position.ts'
import type { Brokers } from './brokers.ts'
import { READ_COMMITTED } from './fetch-request.ts'
import { readMessages } from './read-messages.ts'

/** The partitions of an assignment begin within this time. */
const STARTS_MS_MAX = 1_000

/**
 * Returns a function that takes partitions without a checkpoint, and warns once of those that had messages when it was made: their
 * number, and the time of the oldest. Messages that arrive while the process joins the group are not from before it. Nothing waits.
 */
export function createWarnOfHistory(
  brokers: Pick<Brokers, 'readEnds' | 'fetch'>,
  topics: readonly string[],
  log: Logger,
): (partition: TopicPartition) => void {
  const added: TopicPartition[] = []
  // Later ends are better than none, if a topic or a broker is missing at the start.
  const atStart = brokers.readEnds(topics, READ_COMMITTED).catch(() => null)

  async function warn(): Promise<void> {
    const partitions = added.splice(0)
    const named = [...new Set(partitions.map(({ topic }) => topic))]
    const ends = (await atStart) ?? (await brokers.readEnds(named, READ_COMMITTED))
    const found = partitions.flatMap((one) => ends.get(partitionKey(one)) ?? [])
    const unread = found.filter(({ earliest, end }) => earliest < end)
    if (unread.length === 0) return
    const places = unread.map(({ topic, partition, earliest: offset }) => ({ topic, partition, offset }))
    const messages = [...(await readMessages(brokers, places)).values()]
    const times = messages.flatMap((message) => Number(message?.timestampMs ?? -1n)).filter((ms) => ms >= 0)
    const oldest = times.length === 0 ? null : new Date(Math.min(...times)).toISOString()
    log.warn(
      { partitions: unread.map((one) => `${partitionKey(one)}: ${one.end - one.earliest}`), oldest },
      `no checkpoint: up to ${unread.reduce((sum, one) => sum + one.end - one.earliest, 0n)} messages from before the first start are processed, and the people they are about told; \`checkpoints set\` decides otherwise before a start`,
    )
  }

  return (partition) => {
    if (added.push(partition) > 1) return
    const send = () =>
      warn().catch((error) =>
        log.debug({ err: error }, 'could not read the messages from before the first start'),
      )
    setTimeout(send, STARTS_MS_MAX).unref()
  }
}
