import type { Brokers } from '../../service/consume/brokers.ts'
import { READ_COMMITTED } from '../../service/consume/fetch-request.ts'
import type { DatabaseName } from '../../service/consume/group-offsets.ts'
import { type Ends, partitionKey, type TopicPartition } from '../../service/decide/event/position.ts'
import type { DatabasePool } from '../../service/store/connection/pool.ts'
import { readCheckpointOffsets } from '../../service/store/read/list-checkpoints.ts'

/** The position of a partition. */
export interface Position extends TopicPartition, Ends {
  /** The last processed offset, -1 before the first; null without a checkpoint. */
  readonly checkpoint: bigint | null
  /** The offset of the group's next message in Kafka; null if the group has committed none. */
  readonly committed: bigint | null
  /** The database that committed it; null if unknown. */
  readonly committedBy: DatabaseName | null
  /** Number of unprocessed offsets, up to the first open transaction. */
  readonly lag: bigint
}

/** The positions of these topics' partitions, in order. */
export async function listPositions(
  pool: DatabasePool,
  brokers: Brokers,
  groupId: string,
  topics: readonly string[],
): Promise<readonly Position[]> {
  // A running service moves the first of these last.
  const committed = new Map(
    (await brokers.readCommitted(groupId, topics)).map((offset) => [partitionKey(offset), offset]),
  )
  const checkpoints = await readCheckpointOffsets(pool, topics)
  const ends = [...(await brokers.readEnds(topics, READ_COMMITTED)).values()]
  return ends
    .map(({ topic, partition, earliest, end }) => {
      const key = partitionKey({ topic, partition })
      const checkpoint = checkpoints.get(key) ?? null
      const next = (checkpoint ?? -1n) + 1n
      const unread = end - (next < earliest ? earliest : next)
      const kafkaOffset = committed.get(key)
      return {
        ...{ topic, partition, earliest, end, checkpoint },
        committed: kafkaOffset?.next ?? null,
        committedBy: kafkaOffset?.database ?? null,
        lag: unread > 0n ? unread : 0n,
      }
    })
    .sort((a, b) => (a.topic === b.topic ? a.partition - b.partition : a.topic < b.topic ? -1 : 1))
}
