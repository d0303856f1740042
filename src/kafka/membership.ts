import { setTimeout as sleep } from 'node:timers/promises'
import type { Kafka } from 'kafkajs'
import type { Assignment } from '../core/batch/assignment.ts'
import { type AssignedPartitionsNeeds, allFinished, createAssignedPartitions } from './assigned-partitions.ts'
import { createOffsetReports } from './commit-offsets.ts'
import { type Crash, controlsOf, createMember, join } from './member.ts'
import { settled } from './settled.ts'

/** How long a quiet partition may not know that the database has lost its last commits. */
const CHECKPOINTS_POLL_MS = 10_000
/** How long a stop waits for a join under way, so that it can leave the group again. */
const JOIN_WAIT_MS = 2_000
/** How long a membership that has ended waits for Kafka to keep its last offsets. */
const REPORT_WAIT_MS = 1_000
/** How long a membership that has ended may take to disconnect before the next one begins; the fence parts them. */
const DISCONNECT_WAIT_MS = 20_000

/** Why a membership in the group ended. */
export type Ending = { readonly kind: 'stop' } | { readonly kind: 'topics' } | Crash

export interface MembershipOptions {
  readonly groupId: string
  readonly sessionTimeoutMs: number
  /** All of them exist. */
  readonly topics: string[]
}

export interface MembershipNeeds extends Omit<AssignedPartitionsNeeds, 'controlsOf' | 'reportToKafka'> {
  readonly onBatch: () => void
  /** Resolves when the consumer is to stop. */
  readonly stopped: Promise<Ending>
  /** Resolves when a topic that was missing exists; asks no more once the signal aborts. */
  readonly appeared: (signal: AbortSignal) => Promise<Ending>
}

/**
 * One membership in the group. `run` joins it, and resolves when something has ended it and it is left.
 *
 * @param stopping aborts when the consumer is to stop
 */
export function createMembership(
  kafka: Kafka,
  { topics, ...options }: MembershipOptions,
  stopping: AbortSignal,
  needs: MembershipNeeds,
) {
  const over = new AbortController()
  const { consumer, crashed } = createMember(kafka, options)
  const reports = createOffsetReports((offsets) => consumer.commitOffsets(offsets), needs.log)
  const owned = createAssignedPartitions({
    ...needs,
    controlsOf: (topic, partition) => controlsOf(consumer, topic, partition),
    reportToKafka: reports.report,
  })
  let assignment: Assignment | null = null

  stopping.addEventListener('abort', owned.end, { signal: over.signal })
  consumer.on(consumer.events.GROUP_JOIN, ({ payload }) => {
    if (over.signal.aborted || stopping.aborted) return
    assignment = { partitions: payload.memberAssignment, isLeader: payload.isLeader }
    // Other members may own these partitions now.
    reports.clear()
    owned.onJoin(payload.memberAssignment)
    needs.log.info(
      { groupId: options.groupId, assignment: payload.memberAssignment },
      'joined the consumer group',
    )
  })

  async function run(): Promise<Ending> {
    void watchCheckpoints(() => owned.compareCheckpoints(topics), over.signal)
    const joining = join(consumer, topics, async (payload) => {
      needs.onBatch()
      await owned.eachBatch(payload)
    })
    try {
      // The join is waited for even when a stop comes in: kafkajs would go on with it behind our back.
      await Promise.race([joining, needs.stopped.then(() => settled(joining, JOIN_WAIT_MS))])
      return await Promise.race([crashed, needs.stopped, needs.appeared(over.signal)])
    } finally {
      await leave()
    }
  }

  async function leave(): Promise<void> {
    assignment = null
    over.abort()
    owned.end()
    // Others are to go on where our last batches end, not beside them.
    await settled(allFinished(needs.latest), DISCONNECT_WAIT_MS)
    await settled(reports.flush(), REPORT_WAIT_MS)
    // kafkajs has logged what it could not do; how the membership ended must not be lost over it.
    await settled(consumer.disconnect(), DISCONNECT_WAIT_MS)
  }

  return {
    run,
    /** Null before it has joined, and once it is over. */
    assignment: () => assignment,
    held: owned.held,
    headOf: owned.headOf,
  }
}

/** The database may be away: batches and HTTP say so. */
async function watchCheckpoints(compare: () => Promise<void>, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    await sleep(CHECKPOINTS_POLL_MS, undefined, { signal }).catch(() => {})
    if (!signal.aborted) await compare().catch(() => {})
  }
}
