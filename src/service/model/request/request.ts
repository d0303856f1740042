/** The note of a request that waits for policy administration. */
export const PAUSED = 'paused: policy administration is down'

/** Maximum length of the reason for a request, in characters. */
export const BECAUSE_LENGTH_MAX = 500

/** How a request ended unless it was cancelled; the note gives the reason for a stop. */
export interface End {
  readonly state: 'done' | 'stopped'
  readonly note: string | null
}
export const DONE: End = { state: 'done', note: null }

/** An item that a request left unchanged: a log entry, a rejected message or a partition, and the reason. */
interface UnchangedItem {
  readonly item: string
  readonly reason: string
  /** Number of unlisted items with this reason. */
  readonly more?: number | undefined
}

/** The state of a request between two pages. */
export interface Progress<Position = unknown> {
  readonly position: Position
  readonly counts: Readonly<Record<string, number>>
  readonly unchanged: readonly UnchangedItem[]
}

const UNCHANGED_COUNT_MAX = 100
/** Maximum number of listed items with one reason. */
const SAME_COUNT_MAX = 10

/** The progress after some more items, each with its result. */
export function addResults<Position>(
  { counts, unchanged }: Progress,
  position: Position,
  results: readonly (readonly [item: string, result: string | { readonly reason: string }])[],
): Progress<Position> {
  const sums: Record<string, number> = { ...counts }
  const kept = [...unchanged]
  for (const [item, result] of results) {
    const name = typeof result === 'string' ? result : 'unchanged'
    sums[name] = (sums[name] ?? 0) + 1
    if (typeof result === 'string') continue
    const same = kept.filter(({ reason }) => reason === result.reason)
    const [first] = same
    if (same.length < SAME_COUNT_MAX) {
      if (kept.length < UNCHANGED_COUNT_MAX) kept.push({ item, ...result })
    } else if (first !== undefined) kept[kept.indexOf(first)] = { ...first, more: (first.more ?? 0) + 1 }
  }
  return { position, counts: sums, unchanged: kept }
}
