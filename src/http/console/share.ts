/** For so long after it came an answer is good enough for whoever asks the same. */
const GOOD_FOR_MS = 5_000

/**
 * Has something that is costly to read be read once for all who ask at the same time or shortly after each other. A
 * failure is shared by those who wait for it, and forgotten.
 */
export function share<Key, Value>(
  read: (key: Key) => Promise<Value>,
  nowMs: () => number,
): (key: Key) => Promise<Value> {
  const answers = new Map<Key, { readonly value: Promise<Value>; untilMs: number }>()
  return (key) => {
    const found = answers.get(key)
    if (found !== undefined && nowMs() < found.untilMs) return found.value
    // However long it takes, nobody has the same read beside it.
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
