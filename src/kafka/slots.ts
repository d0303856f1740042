import { bulkhead } from 'cockatiel'

/** More batches at once would be smaller, each with a transaction of its own. */
const BUSY_COUNT_MAX = 3
/** A batch that takes longer waits for something, such as policy administration, and uses no processor. */
const BUSY_MS = 50

/**
 * Slots for batches, given roughly in the order of the requests. At most `countMax` batches are under way and few are busy,
 * so that events gather in the queues meanwhile. Returns a function that resolves to the one that gives the slot back.
 */
export function createSlots(countMax: number, sleep: (durationMs: number) => Promise<unknown>) {
  const underWay = bulkhead(countMax, Number.POSITIVE_INFINITY)
  const busy = bulkhead(BUSY_COUNT_MAX, Number.POSITIVE_INFINITY)
  return (): Promise<() => void> => {
    const taken = Promise.withResolvers<() => void>()
    const done = Promise.withResolvers<void>()
    void underWay.execute(async () => {
      void busy.execute(async () => {
        taken.resolve(done.resolve)
        await Promise.race([done.promise, sleep(BUSY_MS)])
      })
      await done.promise
    })
    return taken.promise
  }
}
