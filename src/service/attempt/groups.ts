import type {
  Batch,
  BatchResult,
  Dispatch,
  GroupedBatch,
  ProcessedBatch,
  ProcessNext,
  WaitingPartition,
} from '../decide/attempt/batch.ts'
import type { StartTimer } from '../time/clock.ts'

/** Groups under way at once: with more, each would be smaller and have its own transaction. */
const BUSY_GROUP_COUNT_MAX = 3
/** A group that takes longer is waiting, for example for policy administration, and uses no processor. */
const BUSY_MS = 50
/** Partitions that wait share a group up to this many fetched bytes. */
const GROUP_BYTES_MAX = 128 * 1024

interface QueuedPartition extends WaitingPartition, PromiseWithResolvers<ProcessedBatch | null> {}

/**
 * The place where events come together: a group takes all partitions that wait, in their order, up to a size. Partitions that ask at
 * the same time, as after a fetch, form one group. At most `batchCountMax` batches run at once, and only a few
 * groups of them are busy, so that events gather meanwhile.
 */
export function createGroups(batchCountMax: number, startTimer: StartTimer, dispatch: Dispatch): ProcessNext {
  const waiting: QueuedPartition[] = []
  let batchCount = 0
  let busyGroupCount = 0
  let isScheduled = false

  function schedule(): void {
    if (isScheduled) return
    isScheduled = true
    setImmediate(() => {
      isScheduled = false
      while (waiting.length > 0 && batchCount < batchCountMax && busyGroupCount < BUSY_GROUP_COUNT_MAX)
        void startGroup(nextGroup())
    })
  }

  function nextGroup(): QueuedPartition[] {
    const group: QueuedPartition[] = []
    let bytes = 0
    do {
      const next = waiting.shift()
      if (next === undefined) break
      bytes += next.bytes
      group.push(next)
    } while (batchCount + group.length < batchCountMax && bytes + (waiting[0]?.bytes ?? 0) <= GROUP_BYTES_MAX)
    return group
  }

  async function startGroup(group: readonly QueuedPartition[]): Promise<void> {
    busyGroupCount++
    let isBusy = true
    const endBusy = () => {
      if (isBusy) busyGroupCount--
      isBusy = false
      schedule()
    }
    const stopTimer = startTimer(BUSY_MS, endBusy)
    batchCount += group.length
    const taken = (await Promise.all(group.map(takeBatch))).filter((batch) => batch !== null)
    const results = dispatch(taken)
    await Promise.all(taken.map(({ batch, partition }, i) => settle(partition, batch, results[i])))
    stopTimer()
    endBusy()
  }

  /** Null if the partition has nothing to process by now. */
  async function takeBatch(
    partition: QueuedPartition,
  ): Promise<(GroupedBatch & { readonly partition: QueuedPartition }) | null> {
    const { isAlone } = partition
    try {
      const batch = await partition.take()
      if (batch !== null) return { batch, isAlone, partition }
      partition.resolve(null)
    } catch (error) {
      partition.reject(error)
    }
    end()
    return null
  }

  async function settle(
    { resolve, reject }: QueuedPartition,
    batch: Batch,
    running: Promise<BatchResult> | undefined,
  ) {
    try {
      if (running === undefined) throw new Error('a batch has no result')
      resolve({ batch, result: await running })
    } catch (error) {
      reject(error)
    }
    end()
  }

  function end(): void {
    batchCount--
    schedule()
  }

  return (partition) => {
    const queued = { ...partition, ...Promise.withResolvers<ProcessedBatch | null>() }
    waiting.push(queued)
    schedule()
    return queued.promise
  }
}
