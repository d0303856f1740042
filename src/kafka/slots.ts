import type { StartTimer } from '../core/time/timer.ts'

/** Groups of batches at work at once: with more, each would be smaller and have its own transaction. */
const BUSY_GROUP_COUNT_MAX = 3
/** A group that takes longer is waiting, for example for policy administration, and uses no processor. */
const BUSY_MS = 50
/** Partitions with little to do share a slot up to this many fetched bytes, and later a transaction (pipeline/shared-commits.ts). */
const GROUP_BYTES_MAX = 128 * 1024

/** Resolves to the function that gives the slot back. */
export type TakeSlot = (fetchedBytes: number) => Promise<() => void>

interface Waiting {
  readonly bytes: number
  readonly start: (giveBack: () => void) => void
}

/**
 * Slots for batches, in the order of requests. At most `countMax` batches run at once, and only a few groups of them are busy, so
 * that events gather in the inboxes meanwhile. Partitions with little to do form a group if they wait for the same slot, or ask in
 * the same turn of the event loop, as after a fetch.
 */
export function createSlots(countMax: number, startTimer: StartTimer): TakeSlot {
  const waiting: Waiting[] = []
  let batchCount = 0
  let busyGroupCount = 0
  let isScheduled = false

  function schedule(): void {
    if (isScheduled) return
    isScheduled = true
    setImmediate(() => {
      isScheduled = false
      while (waiting.length > 0 && batchCount < countMax && busyGroupCount < BUSY_GROUP_COUNT_MAX)
        startGroup()
    })
  }

  function startGroup(): void {
    busyGroupCount++
    const ends: Promise<void>[] = []
    let bytes = 0
    do {
      const next = waiting.shift()
      if (next === undefined) break
      bytes += next.bytes
      ends.push(run(next))
    } while (batchCount < countMax && bytes + (waiting[0]?.bytes ?? 0) <= GROUP_BYTES_MAX)
    let isBusy = true
    const end = () => {
      if (isBusy) busyGroupCount--
      isBusy = false
      stopTimer()
      schedule()
    }
    const stopTimer = startTimer(BUSY_MS, end)
    void Promise.all(ends).then(end)
  }

  async function run({ start }: Waiting): Promise<void> {
    batchCount++
    const ended = Promise.withResolvers<void>()
    start(ended.resolve)
    await ended.promise
    batchCount--
    schedule()
  }

  return (bytes) =>
    new Promise((start) => {
      waiting.push({ bytes, start })
      schedule()
    })
}
