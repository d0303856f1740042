import { z } from 'zod'
import type { Channel } from '../decision/channel.ts'
import type { ListedLogEntry, LogEntry } from './log-entry.ts'
import type { Status } from './status.ts'

/** One page of a list. `nextCursor` requests the next page; null on the last one. */
export function pageOf<Item extends z.ZodType>(item: Item) {
  return z.object({ items: z.array(item), nextCursor: z.string().nullable() })
}
export type Page<Item> = Readonly<z.infer<ReturnType<typeof pageOf<z.ZodType<Item>>>>>

/** Filters of the log; an entry must match all of them. Times are in the format of an entry. */
export interface LogFilter<Time = string> {
  readonly partyLocator?: string | undefined
  readonly eventType?: string | undefined
  readonly status?: Status | undefined
  /** Only entries whose member was not told and will not be: SKIPPED, or FAILED past the last retry. */
  readonly notTold?: true | undefined
  readonly channel?: Channel | undefined
  readonly eventId?: string | undefined
  /** The claim, policy or invoice that the event is about. */
  readonly reference?: string | undefined
  /** The failure reason, or its part before the first colon. */
  readonly reason?: string | undefined
  /** The beginning of the failure reason. */
  readonly reasonPrefix?: string | undefined
  /** The rule of the last decision. */
  readonly rule?: string | undefined
  readonly from?: Time | undefined
  /** `createdAt` is earlier than this time. */
  readonly to?: Time | undefined
}

/** Position of an entry in the log, which never changes: newest first by creation time, then by locator. */
export type LogPosition = Pick<LogEntry, 'createdAt' | 'locator'>

/** A request for at most `limit` entries after the position `after`, or from the first one. */
export interface LogPageRequest {
  readonly limit: number
  readonly after: LogPosition | null
}

/**
 * Entries newest first. `next` is the `after` of the next page; null on the last one. If no single index serves the filter, a
 * page can be short or empty without being the last one.
 */
export interface LogPage {
  readonly items: readonly ListedLogEntry[]
  readonly next: LogPosition | null
}
