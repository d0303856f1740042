const VALID_MS = 1_000

/** Asks anew only where the last result is a second old: what is asked costs the same however many ask. */
export function onceASecond<Result>(ask: () => Promise<Result>, nowMs: () => number): () => Promise<Result> {
  let last: Promise<Result> | null = null
  /** While the answer is still to come, nobody asks again. */
  let settledAtMs = Number.POSITIVE_INFINITY
  return () => {
    if (last === null || nowMs() - settledAtMs >= VALID_MS) {
      settledAtMs = Number.POSITIVE_INFINITY
      last = ask().finally(() => {
        settledAtMs = nowMs()
      })
    }
    return last
  }
}
