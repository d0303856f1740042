const traceIds = new WeakMap<Error, string>()

/** Remembers the trace in which an error occurred. */
export function markTrace(error: unknown, traceId: string): void {
  if (error instanceof Error) traceIds.set(error, traceId)
}

/** The trace in which an error occurred, if any. */
export function traceOf(error: unknown): string | undefined {
  return error instanceof Error ? traceIds.get(error) : undefined
}
