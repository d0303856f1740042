/** For so long an answer is good enough for whoever asks the same. */
const GOOD_FOR_MS = 5_000

/**
 * Has something that is costly to read be read once for all who ask at the same time or shortly after each other. A
 * failure is shared by those who wait for it, and forgotten.
 */
export function share<Key, Value>(
  read: (key: Key) => Promise<Value>,
  nowMs: () => number,
): (key: Key) => Promise<Value> {
  const answers = new Map<Key, { readonly value: Promise<Value>; readonly untilMs: number }>()
  return (key) => {
    const found = answers.get(key)
    if (found !== undefined && nowMs() < found.untilMs) return found.value
    const value = read(key)
    answers.set(key, { value, untilMs: nowMs() + GOOD_FOR_MS })
    value.catch(() => answers.delete(key))
    return value
  }
}
