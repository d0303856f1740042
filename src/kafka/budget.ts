/** Bytes that wait in the queues of all partitions. Where they are too many, no partition is fetched any further. */
export interface Budget {
  isFull(): boolean
  /** Negative: as many were taken from a queue. */
  add(bytes: number): void
  /** Calls `resume` whenever there is room, until that has returned true. */
  onRoom(resume: () => boolean): void
}

export function createBudget(bytesMax: number): Budget {
  const waiting = new Set<() => boolean>()
  let usedBytes = 0
  return {
    isFull: () => usedBytes >= bytesMax,
    add: (bytes) => {
      usedBytes += bytes
      if (bytes > 0) return
      for (const resume of waiting) {
        if (usedBytes >= bytesMax) return
        if (resume()) waiting.delete(resume)
      }
    },
    onRoom: (resume) => waiting.add(resume),
  }
}
