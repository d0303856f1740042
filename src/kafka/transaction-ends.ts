import type { Fate } from '../core/audit/log-piece.ts'
import { type TransactionEnd, transactionEndOf } from './records/log-batch.ts'
import { batchesOf } from './records/record-set.ts'

/** Part of a partition's log. */
export interface Stretch {
  readonly bytes: Buffer
  readonly from: bigint
  /** Where to read on. */
  readonly next: bigint
}

/**
 * Tells what became of the transactions of a partition, by nothing but the record that ends each: a message belongs to the
 * transaction of its producer that the next such record of this producer ends. The broker's list of aborted transactions,
 * by which the consumer judges, is not asked. Reads ahead as far as the end is away, and keeps of it no more than the ends
 * of transactions.
 *
 * @param readOn reads the stretch from an offset on; null where there is no more
 */
export function createTransactionEnds(readOn: (from: bigint) => Promise<Stretch | null>) {
  const endsOf = new Map<bigint, { readonly offset: bigint; readonly end: TransactionEnd }[]>()
  let next = 0n
  let isComplete = false

  /** Takes notice of a stretch that has been read anyway, the one behind the one before. */
  function note(stretch: Stretch): void {
    if (stretch.next <= next) return
    for (const batch of batchesOf(stretch.bytes)) {
      const found = transactionEndOf(batch)
      if (found === null || found.offset < next) continue
      const ends = endsOf.get(found.producerId)
      if (ends === undefined) endsOf.set(found.producerId, [found])
      else ends.push(found)
    }
    next = stretch.next
  }

  return {
    note,
    /** Nothing before this offset will be asked for. */
    forget: (before: bigint): void => {
      for (const [producerId, ends] of endsOf) {
        const left = ends.filter(({ offset }) => offset >= before)
        if (left.length === 0) endsOf.delete(producerId)
        else endsOf.set(producerId, left)
      }
    },
    /** Of the messages of a producer's transactional batch with this last offset. */
    fateOf: async (producerId: bigint, lastOffset: bigint): Promise<Fate> => {
      for (;;) {
        const found = endsOf.get(producerId)?.find(({ offset }) => offset > lastOffset)
        if (found !== undefined) return found.end
        const stretch = isComplete ? null : await readOn(next > lastOffset ? next : lastOffset + 1n)
        if (stretch === null) {
          isComplete = true
          return 'open'
        }
        note(stretch)
      }
    },
  }
}
