const traceIds = new WeakMap<Error, string>()

/** Remembers in which trace an error came up. */
export function markTrace(error: unknown, traceId: string): void {
  if (error instanceof Error) traceIds.set(error, traceId)
}

/** The trace in which an error came up, if it did in one. */
export function traceOf(error: unknown): string | undefined {
  return error instanceof Error ? traceIds.get(error) : undefined
}
