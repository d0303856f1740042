import type { Logger } from 'pino'
import { partitionKey, type TopicPartition } from '../decide/event/position.ts'
import type { Brokers } from './brokers.ts'
import { READ_COMMITTED } from './fetch-request.ts'
import { readMessages } from './read-messages.ts'

/** The partitions of an assignment begin within this time. */
const STARTS_MS_MAX = 1_000
/** Between two looks that fail. */
const PAUSE_MS_MAX = 60_000
/** The clock of a producer may be behind: what is published meanwhile is not older. */
const RECENT_MS = 60_000

/**
 * Returns a function that takes partitions without a checkpoint, and warns once of their history: how many messages there are, and the
 * time of the oldest. History is what was there when the function was made, and messages with an earlier timestamp, which a producer may
 * copy there later. What is published while the process joins the group is none. Nothing waits; a look that fails is repeated.
 */
export function createWarnOfHistory(
  brokers: Pick<Brokers, 'readEnds' | 'firstSince' | 'unservedReason' | 'fetch'>,
  topics: readonly string[],
  startedMs: number,
  log: Logger,
): (partition: TopicPartition) => void {
  const added: TopicPartition[] = []
  // A topic or a broker may be missing at the start: the times of messages tell as well.
  const atStart = brokers.readEnds(topics, READ_COMMITTED).catch(() => null)

  /** Resolves to the partitions that no broker leads. */
  async function warn(partitions: readonly TopicPartition[]): Promise<readonly TopicPartition[]> {
    const ends = await brokers.readEnds([...new Set(partitions.map(({ topic }) => topic))], READ_COMMITTED)
    const filled = partitions
      .flatMap((partition) => ends.get(partitionKey(partition)) ?? [])
      .filter(({ earliest, end }) => earliest < end)
    const leaderless = partitions.filter((partition) => !ends.has(partitionKey(partition)))
    if (filled.length === 0) return leaderless
    const recent = await brokers.firstSince(filled, startedMs - RECENT_MS, READ_COMMITTED)
    const endsAtStart = await atStart
    const unread = filled.flatMap((partition) => {
      const firstRecent = recent.get(partitionKey(partition)) ?? partition.end
      const endAtStart = endsAtStart?.get(partitionKey(partition))?.end ?? 0n
      const end = firstRecent > endAtStart ? firstRecent : endAtStart
      return partition.earliest < end ? [{ ...partition, end }] : []
    })
    if (unread.length === 0) return leaderless
    const places = unread.map(({ topic, partition, earliest: offset }) => ({ topic, partition, offset }))
    const messages = [...(await readMessages(brokers, places)).values()]
    const times = messages.flatMap((message) => Number(message?.timestampMs ?? -1n)).filter((ms) => ms >= 0)
    const oldest = times.length === 0 ? null : new Date(Math.min(...times)).toISOString()
    log.warn(
      { partitions: unread.map((range) => `${partitionKey(range)}: ${range.end - range.earliest}`), oldest },
      `no checkpoint: up to ${unread.reduce((sum, { earliest, end }) => sum + end - earliest, 0n)} messages from before the first start are processed, and the people they are about told; \`checkpoints set\` decides otherwise before a start`,
    )
    return leaderless
  }

  async function look(pauseMs: number): Promise<void> {
    const partitions = [...added]
    try {
      const leaderless = await warn(partitions)
      added.splice(0, partitions.length, ...leaderless)
    } catch (error) {
      log.debug({ err: error }, 'could not read the messages from before the first start')
    }
    if (added.length > 0) lookAfter(Math.min(pauseMs * 2, PAUSE_MS_MAX))
  }

  function lookAfter(pauseMs: number): void {
    setTimeout(() => void look(pauseMs), pauseMs).unref()
  }

  return (partition) => {
    if (added.push(partition) === 1) lookAfter(STARTS_MS_MAX)
  }
}
