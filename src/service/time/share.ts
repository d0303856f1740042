interface Durations {
  /** Time for which a result is reused. */
  readonly validMs: number
  /** Time for which a running read accepts further callers. Later callers start a new read, since this one may hang. */
  readonly deadlineMs: number
}

/**
 * Shares one read per first argument among all callers until its deadline, and reuses its result for `validMs` afterwards. A
 * failure is shared with the waiting callers, then forgotten.
 */
export function share<Args extends readonly [] | readonly [unknown], Value>(
  read: (...args: Args) => Promise<Value>,
  { validMs, deadlineMs }: Durations,
  monotonicMs: () => number,
): (...args: Args) => Promise<Value> {
  const results = new Map<unknown, { readonly value: Promise<Value>; untilMs: number }>()
  return (...args) => {
    const [key] = args
    const known = results.get(key)
    if (known !== undefined && monotonicMs() < known.untilMs) return known.value
    for (const [other, { untilMs }] of results) if (monotonicMs() >= untilMs) results.delete(other)
    const result = { value: read(...args), untilMs: monotonicMs() + deadlineMs }
    results.set(key, result)
    result.value.then(
      () => {
        result.untilMs = monotonicMs() + validMs
      },
      () => {
        if (results.get(key) === result) results.delete(key)
      },
    )
    return result.value
  }
}
