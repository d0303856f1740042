/** How long a result may be reused. */
const GOOD_FOR_MS = 5_000

/**
 * Shares one costly read between all who ask at the same time or shortly after. A failure is shared by those who wait
 * for it and then forgotten.
 */
export function share<Key, Value>(
  read: (key: Key) => Promise<Value>,
  nowMs: () => number,
): (key: Key) => Promise<Value> {
  const answers = new Map<Key, { readonly value: Promise<Value>; untilMs: number }>()
  return (key) => {
    const found = answers.get(key)
    if (found !== undefined && nowMs() < found.untilMs) return found.value
    // However long it takes, the same read never runs twice at a time.
    const answer = { value: read(key), untilMs: Number.POSITIVE_INFINITY }
    answers.set(key, answer)
    answer.value.then(
      () => {
        answer.untilMs = nowMs() + GOOD_FOR_MS
      },
      () => answers.delete(key),
    )
    return answer.value
  }
}
