import { z } from 'zod'
import type { ListedLogEntry, LogEntry } from './log-entry.ts'

/** One page of a list. `nextCursor` requests the next page; null on the last one. */
export function pageSchema<Item extends z.ZodType>(item: Item) {
  return z.object({ items: z.array(item), nextCursor: z.string().nullable() })
}
export type Page<Item> = Readonly<z.infer<ReturnType<typeof pageSchema<z.ZodType<Item>>>>>

/** Position of an entry in the log, which never changes: newest first by creation time, then by locator. */
export type LogPosition = Pick<LogEntry, 'createdAt' | 'locator'>

/** A request for at most `limit` items after the position `after`, or from the first one. */
export interface PageRequest<Position> {
  readonly limit: number
  readonly after: Position | null
}

/** A part of a list. `next` is the `after` of the next page; null on the last one. */
export interface ListPage<Item, Position> {
  readonly items: readonly Item[]
  readonly next: Position | null
}

/**
 * Entries newest first. A page can be short without being the last one if its texts are large, and short or empty if no single
 * index serves the filter.
 */
export type LogPage<Item = ListedLogEntry> = ListPage<Item, LogPosition>
