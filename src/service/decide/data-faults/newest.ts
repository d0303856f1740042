/** References have no length limit; longer ones are not kept. */
const VALUE_LENGTH_MAX = 255

export type Newest = ReturnType<typeof createNewest>

/** The newest value of each key, and how often each value occurs. */
export function createNewest(countMax: number) {
  const values = new Map<string, string>()
  const counts = new Map<string, number>()
  function remove(key: string): void {
    const value = values.get(key)
    if (value === undefined) return
    values.delete(key)
    const count = counts.get(value) ?? 0
    if (count > 1) counts.set(value, count - 1)
    else counts.delete(value)
  }
  return {
    add: (key: string, value: string): void => {
      remove(key)
      if (value.length > VALUE_LENGTH_MAX) return
      values.set(key, value)
      counts.set(value, (counts.get(value) ?? 0) + 1)
      if (values.size > countMax) remove(values.keys().next().value ?? key)
    },
    get: (key: string): string | undefined => values.get(key),
    countOf: (value: string): number => counts.get(value) ?? 0,
    count: (): number => values.size,
  }
}
