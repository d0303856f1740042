/**
 * Bytes that wait in the queues of all partitions. Where they are too many, a partition is fetched only while it has none of
 * them, so that slow partitions leave the others their turn; where they are far too many, none is.
 */
export interface Budget {
  /** For a partition of which so many bytes wait. */
  isFull(ownBytes: number): boolean
  /** Negative: as many were taken from a queue. */
  add(bytes: number): void
  /** Calls `resume` whenever there is room, until that has returned true. */
  onRoom(resume: () => boolean): void
}

const FAR_TOO_MANY = 4

export function createBudget(bytesMax: number): Budget {
  const waiting = new Set<() => boolean>()
  let usedBytes = 0
  return {
    isFull: (ownBytes) => usedBytes >= (ownBytes > 0 ? bytesMax : FAR_TOO_MANY * bytesMax),
    add: (bytes) => {
      usedBytes += bytes
      if (bytes > 0) return
      for (const resume of waiting) if (resume()) waiting.delete(resume)
    },
    onRoom: (resume) => waiting.add(resume),
  }
}
