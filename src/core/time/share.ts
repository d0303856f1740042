/**
 * Shares one read per first argument among all callers while it runs, and reuses its result for `validMs` afterwards. The same
 * read never runs twice at a time. A failure is shared with the waiting callers, then forgotten.
 */
export function share<Args extends readonly [] | readonly [unknown], Value>(
  read: (...args: Args) => Promise<Value>,
  validMs: number,
  nowMs: () => number,
): (...args: Args) => Promise<Value> {
  const results = new Map<unknown, { readonly value: Promise<Value>; untilMs: number }>()
  return (...args) => {
    const [key] = args
    const known = results.get(key)
    if (known !== undefined && nowMs() < known.untilMs) return known.value
    const result = { value: read(...args), untilMs: Number.POSITIVE_INFINITY }
    results.set(key, result)
    result.value.then(
      () => {
        result.untilMs = nowMs() + validMs
      },
      () => results.delete(key),
    )
    return result.value
  }
}
