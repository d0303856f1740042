import { bulkhead } from 'cockatiel'

/** More batches at once would be smaller ones, each with a transaction of its own. */
const BUSY_COUNT_MAX = 3
/** A batch that takes longer waits for something, such as policy administration, and keeps no processor busy. */
const BUSY_MS = 50

/**
 * Gives batches their turn, in the order in which they ask. So many are under way at most, and few are busy, so that events
 * gather in the queues meanwhile.
 */
export function createTurns(countMax: number, sleep: (durationMs: number) => Promise<unknown>) {
  const underWay = bulkhead(countMax, Number.POSITIVE_INFINITY)
  const busy = bulkhead(BUSY_COUNT_MAX, Number.POSITIVE_INFINITY)
  return <Result>(work: () => Promise<Result>): Promise<Result> =>
    underWay.execute(async () => {
      const begun = Promise.withResolvers<{ readonly result: Promise<Result> }>()
      void busy.execute(async () => {
        const result = work()
        begun.resolve({ result })
        await Promise.race([result.catch(() => {}), sleep(BUSY_MS)])
      })
      return await (await begun.promise).result
    })
}
