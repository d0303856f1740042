import type { TopicPartitionOffset } from 'kafkajs'
import { pino } from 'pino'
import { createBudget, type FetchControls } from '../../src/kafka/inbox.ts'
import { assignedPartitions } from '../../src/kafka/membership.ts'
import type { PartitionNeeds } from '../../src/kafka/partition.ts'

export interface Given
  extends Pick<PartitionNeeds, 'ensureCheckpoint' | 'dispatch'>,
    Partial<Omit<PartitionNeeds, 'ensureCheckpoint' | 'dispatch'>> {
  readonly controlsOf: (topic: string, partition: number) => FetchControls
  readonly commitToKafka?: (offset: TopicPartitionOffset) => void
}

/** Partitions whose needs are harmless unless given. */
export function assign({ controlsOf, commitToKafka = () => {}, ...given }: Given) {
  const partitionNeeds: PartitionNeeds = {
    resetCheckpoint: async (_topic, _partition, _expected, offset) => offset,
    listCheckpoints: async () => [],
    findReason: () => 'not-committed',
    countLost: () => {},
    takeSlot: async () => () => {},
    readEnds: async () => ({ earliest: 0n, end: 0n }),
    unservedReason: () => null,
    budget: createBudget(Number.POSITIVE_INFINITY),
    latest: new Map(),
    batchCountMax: 500,
    nowMs: () => 0,
    sleep: async () => {},
    log: pino({ level: 'silent' }),
    ...given,
  }
  const consumers = () => [...partitionNeeds.latest.values()]
  return {
    partitions: assignedPartitions(partitionNeeds, controlsOf, commitToKafka),
    budget: partitionNeeds.budget,
    blocked: () => consumers().flatMap((consumer) => consumer.blocked() ?? []),
    /** Resolves when no batch of any assignment is under way. */
    finished: () => Promise.all(consumers().map(({ finished }) => finished)),
  }
}
