/** Calls `run` once after a time, unless the returned function is called before. */
export type StartTimer = (durationMs: number, run: () => void) => () => void
