import { pino } from 'pino'
import { allFinished, createAssignedPartitions } from '../../src/kafka/assigned-partitions.ts'
import { type Budget, createBudget } from '../../src/kafka/budget.ts'

export type Needs = Parameters<typeof createAssignedPartitions>[0]
type Given = Pick<Needs, 'loadCheckpoint' | 'dispatch' | 'controlsOf'> & Partial<Needs>

/** Constructs the consumption of partitions, with harmless defaults. No other test file names its parts. */
export function assign(given: Given) {
  const budget: Budget = given.budget ?? createBudget(Number.POSITIVE_INFINITY)
  const latest: Needs['latest'] = new Map()
  const partitions = createAssignedPartitions({
    resetCheckpoint: async (_topic, _partition, _held, offset) => offset,
    listCheckpoints: async () => [],
    reasonOf: () => 'not-committed',
    takeSlot: async () => () => {},
    offsetsOf: async () => ({ earliest: 0n, end: 0n }),
    unservedReason: () => null,
    reportToKafka: () => {},
    batchCountMax: () => 500,
    nowMs: () => 0,
    sleep: async () => {},
    log: pino({ level: 'silent' }),
    ...given,
    budget,
    latest,
  })
  return {
    partitions,
    budget,
    /** Resolves when no batch of any assignment is under way. */
    finished: () => allFinished(latest),
  }
}
