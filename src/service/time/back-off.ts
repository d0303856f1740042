const PAUSE_MIN_MS = 500
const PAUSE_MAX_MS = 10_000

/** Returns the pause in ms after a failure, given the number of failures before it. Doubles from 0.5 s to 10 s. */
export function backOffMs(failureCount: number): number {
  return Math.min(PAUSE_MIN_MS * 2 ** failureCount, PAUSE_MAX_MS)
}
