import { pino } from 'pino'
import { AssignedPartitions } from '../../../src/service/consume/assigned-partitions.ts'
import { Condition } from '../../../src/service/consume/condition-variable.ts'
import type { Fetcher } from '../../../src/service/consume/fetcher.ts'
import { createBudget } from '../../../src/service/consume/inbox.ts'
import type { PartitionConsumer, PartitionNeeds } from '../../../src/service/consume/partition.ts'

export interface Given
  extends Pick<PartitionNeeds, 'ensureCheckpoint' | 'processNext'>,
    Partial<Omit<PartitionNeeds, 'ensureCheckpoint' | 'processNext'>> {}

/** Partitions whose needs are harmless unless given. */
export function assign(given: Given, fetcher?: Fetcher) {
  const needs: PartitionNeeds = {
    resetCheckpoint: async (_topic, _partition, _expected, offset) => offset,
    listCheckpoints: async () => [],
    findHold: async () => null,
    findReason: () => 'not-committed',
    countLost: () => {},
    countRowsLost: () => {},
    database: { id: '00000000-0000-4000-8000-000000000001', place: 'db/ours' },
    readEnds: async () => ({ earliest: 0n, end: 0n }),
    unservedReason: () => null,
    commitToKafka: () => {},
    fetchable: new Condition(),
    budget: createBudget(Number.POSITIVE_INFINITY, new Condition()),
    batchCountMax: 500,
    wallMs: () => 0,
    monotonicMs: () => 0,
    sleep: async () => {},
    log: pino({ level: 'silent' }),
    ...given,
  }
  let owned: readonly PartitionConsumer[] = []
  const setPartitions = (partitions: Iterable<PartitionConsumer>) => {
    owned = [...partitions]
    fetcher?.setPartitions(owned)
  }
  return {
    partitions: new AssignedPartitions(needs, { setPartitions }),
    owned: () => owned,
    budget: needs.budget,
  }
}
