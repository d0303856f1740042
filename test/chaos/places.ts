import type { LogLine } from '../stack/service.ts'
import { until } from '../stack/until.ts'
import { TOPIC_NAMES, type TopicName } from './load.ts'

export const PARTITION_COUNT = 4

export interface Place {
  readonly topic: string
  readonly partition: number
}

/** A record batch that nobody can read. */
export interface Bomb extends Place {
  readonly offset: number
}

/** A replica said that a partition cannot go on. */
export interface BlockedLine extends Place {
  readonly atMs: number
  readonly reason: string
}

/** A replica may be asleep, or the database down. */
const HELD_WAIT_MS = 20_000

/** A partition by chance, each as likely as any other. */
export function placeBy(dice: number, topics: Readonly<Record<TopicName, string>>): Place {
  const name = TOPIC_NAMES[dice % TOPIC_NAMES.length] as TopicName
  return { topic: topics[name], partition: Math.floor(dice / TOPIC_NAMES.length) % PARTITION_COUNT }
}

export function noteBlocked(held: BlockedLine[], { msg, time, topic, partition, reason }: LogLine): void {
  if (!msg.startsWith('a partition is blocked')) return
  held.push({
    atMs: Date.parse(String(time)),
    topic: String(topic),
    partition: Number(partition),
    reason: String(reason),
  })
}

/** Whether a replica says, in time, that this partition is blocked for this reason. */
export function blockedFor(
  held: readonly BlockedLine[],
  { topic, partition }: Place,
  reason: string,
  sinceMs: number,
): Promise<boolean> {
  const isSaid = (line: BlockedLine) =>
    line.topic === topic && line.partition === partition && line.reason === reason && line.atMs >= sinceMs
  return until(() => held.some(isSaid), {
    what: `it to be held as ${reason}`,
    timeoutMs: HELD_WAIT_MS,
  }).catch(() => false)
}
