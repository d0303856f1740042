import type { Fate } from '../core/audit/log-piece.ts'
import { isIntact, MAGIC_AT } from './records/batch-header.ts'
import { type TransactionEnd, transactionEndOf } from './records/log-batch.ts'
import { batchesOf, MAGIC, offsetsOf } from './records/record-set.ts'

/** Part of a partition's log. */
export interface Stretch {
  readonly bytes: Buffer
  readonly from: bigint
  /** Where to read on. */
  readonly next: bigint
}

/** The end of a transaction is a batch of 78 bytes. */
const END_BYTES_MAX = 100

/** A batch that is larger is none: its length is known from where the next one begins. */
function mayBeDamagedEnd(batch: Buffer): boolean {
  if (offsetsOf(batch) === null) return true
  return batch.length <= END_BYTES_MAX && batch.readInt8(MAGIC_AT) === MAGIC && !isIntact(batch)
}

/**
 * Tells what became of the transactions of a partition, by nothing but the record that ends each: a message belongs to the
 * transaction of its producer that the next such record of this producer ends; where a batch in between cannot be read, that
 * may have been an earlier end, and nobody can tell. The broker's list of aborted transactions,
 * by which the consumer judges, is not asked. Reads ahead as far as the end is away, and keeps of it no more than the ends
 * of transactions.
 *
 * @param readOn reads the stretch from an offset on; null where there is no more
 */
export function createTransactionEnds(readOn: (from: bigint) => Promise<Stretch | null>) {
  /** Where batches stand that cannot be read, any of which may be the end of a transaction. */
  let damagedAt: bigint[] = []
  const endsOf = new Map<bigint, { readonly offset: bigint; readonly end: TransactionEnd }[]>()
  let next = 0n
  let isComplete = false

  /** Takes notice of a stretch that has been read anyway, the one behind the one before. */
  function note(stretch: Stretch): void {
    if (stretch.next <= next) return
    let at = stretch.from
    for (const batch of batchesOf(stretch.bytes)) {
      const found = transactionEndOf(batch)
      if (found === null && at >= next && mayBeDamagedEnd(batch)) damagedAt.push(at)
      const last = offsetsOf(batch)?.last ?? at
      if (last >= at) at = last + 1n
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
      damagedAt = damagedAt.filter((offset) => offset >= before)
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
        if (found !== undefined) {
          const isCertain = !damagedAt.some((offset) => offset > lastOffset && offset < found.offset)
          return isCertain ? found.end : 'open'
        }
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
