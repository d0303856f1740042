import type { BatchHeader } from './batches.ts'

/** An entry of a fetch response's list of aborted transactions. */
export interface AbortedTransaction {
  readonly producerId: bigint
  readonly firstOffset: bigint
}

const ABORT = 0

/**
 * Finds the batches of one fetch response that belong to aborted transactions: those of the producer from the transaction's
 * first offset to the marker that ends it. It must see every batch and marker of the response, in order. The list of
 * transactions is unordered, and those of several producers overlap.
 */
export function createAbortedFilter(transactions: readonly AbortedTransaction[]) {
  const waiting = transactions.toSorted((a, b) => (a.firstOffset < b.firstOffset ? -1 : 1))
  const open = new Set<bigint>()
  return {
    isAborted({ isTransactional, producerId, lastOffset }: BatchHeader): boolean {
      for (let next = waiting[0]; next && next.firstOffset <= lastOffset; next = waiting[0]) {
        open.add(next.producerId)
        waiting.shift()
      }
      return isTransactional && open.has(producerId)
    },
    /** @param key of a control batch's record: version and type, two bytes each */
    endTransaction({ producerId }: BatchHeader, key: Uint8Array | null): void {
      if (key !== null && key.length >= 4 && Buffer.from(key).readInt16BE(2) === ABORT)
        open.delete(producerId)
    },
  }
}
