/** Two passes of the retry, which asks for them apart; at the third they have a whole deadline again. */
const REMEMBERED_MS = 170_000
const PARTY_COUNT_MAX = 10_000

export type Hanging = ReturnType<typeof createHanging>

/** The parties that policy administration did not answer for within the deadline, for almost 3 minutes; the newest 10,000. */
export function createHanging(nowMs: () => number) {
  const untilMs = new Map<string, number>()
  return {
    has: (locator: string): boolean => (untilMs.get(locator) ?? 0) > nowMs(),
    remember(locator: string): void {
      untilMs.delete(locator)
      untilMs.set(locator, nowMs() + REMEMBERED_MS)
      const [oldest] = untilMs.size > PARTY_COUNT_MAX ? untilMs.keys() : []
      if (oldest !== undefined) untilMs.delete(oldest)
    },
    forget: (locator: string): void => void untilMs.delete(locator),
  }
}
