import type { UnchangedItem } from './schemas.ts'

/** What people can ask the running service to do. */
export const REQUEST_KINDS = ['retry', 'redrive', 'dismiss', 'skip'] as const
export type RequestKind = (typeof REQUEST_KINDS)[number]

/** Kinds that need policy administration. */
export const LOOK_UP_KINDS: readonly RequestKind[] = ['retry', 'redrive']

/** The note of a request that waits for policy administration. */
export const PAUSED = 'paused: policy administration is down'

/** Characters of the reason for a request. */
export const BECAUSE_LENGTH_MAX = 500

/** How a request ended, but for a cancellation; the note says why it was stopped. */
export interface End {
  readonly state: 'done' | 'stopped'
  readonly note: string | null
}
export const DONE: End = { state: 'done', note: null }

/** The state of a request between two pages: what a page expects to find, and what it leaves behind. */
export interface Progress<Position = unknown> {
  readonly position: Position
  readonly counts: Readonly<Record<string, number>>
  readonly unchanged: readonly UnchangedItem[]
}

const UNCHANGED_COUNT_MAX = 100

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
    if (typeof result !== 'string' && kept.length < UNCHANGED_COUNT_MAX) kept.push({ item, ...result })
  }
  return { position, counts: sums, unchanged: kept }
}
