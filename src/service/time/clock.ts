/** Calls `run` once after a time, unless the returned function is called before. */
export type StartTimer = (durationMs: number, run: () => void) => () => void

/** The process's own clock, or that of a test. */
export interface Clock {
  /** Monotonic time, for durations: setting the wall clock does not change it. */
  readonly monotonicMs: () => number
  readonly startTimer: StartTimer
  /** Rejects when the signal aborts. */
  readonly sleep: (durationMs: number, signal: AbortSignal) => Promise<void>
}
