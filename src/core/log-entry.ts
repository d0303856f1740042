import type { Channel } from './channel.ts'
import type { Status } from './entry.ts'
import type { Facts } from './facts.ts'
import type { Outcome } from './rules/verdict.ts'

/** One row of the notification log, as it is read. Times are ISO 8601 in UTC with six decimals: as texts they compare like times. */
export interface LogEntry {
  readonly locator: string
  readonly eventId: string
  readonly partyLocator: string | null
  readonly eventType: string
  readonly channel: Channel
  readonly status: Status
  readonly subject: string | null
  readonly body: string | null
  readonly failureReason: string | null
  readonly attemptCount: number
  readonly sentAt: string | null
  readonly createdAt: string
}

/** One decision behind a log entry: what was decided, why, and where the event came from. */
export interface DecisionRecord {
  /** The entry's `attemptCount` after this decision. */
  readonly attempt: number
  readonly outcome: Outcome
  readonly channel: Channel
  readonly ruleId: string
  readonly reason: string | null
  readonly facts: Facts
  readonly templateRevision: string | null
  readonly ruleTableRevision: string
  readonly receipt: string | null
  /** Why the sender refused a message that the rule said to send. */
  readonly sendError: string | null
  readonly decidedAt: string
  readonly topic: string
  readonly partition: number
  /** In decimal digits: offsets outgrow a JSON number. */
  readonly offset: string
  readonly traceId: string | null
}

/** One log entry with all that explains it, oldest decision first. */
export interface ExplainedLogEntry extends LogEntry {
  readonly decisions: readonly DecisionRecord[]
}

/** Which log entries to list: those that every value given holds for. Times are as in an entry. */
export interface LogFilter {
  readonly partyLocator?: string | undefined
  readonly eventType?: string | undefined
  readonly status?: Status | undefined
  readonly channel?: Channel | undefined
  readonly eventId?: string | undefined
  /** `createdAt` is this time or later. */
  readonly from?: string | undefined
  /** `createdAt` is earlier than this time. */
  readonly to?: string | undefined
}

/** The place of an entry in the order of the log: newest first by creation time, then by locator. It never changes. */
export type LogPlace = Pick<LogEntry, 'createdAt' | 'locator'>

/** Which part of a list: at most `limit` entries, those that follow the place `after`, else the first. */
export interface LogPageRequest {
  readonly limit: number
  readonly after: LogPlace | null
}

/** Entries newest first. `next` is the `after` of the next page; null on the last one. */
export interface LogPage {
  readonly items: readonly LogEntry[]
  readonly next: LogPlace | null
}

/** `NTF-` and a UUID (the specification leaves the identifier open). */
const LOCATOR = /^NTF-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

/** Whether a text can be the locator of a log entry at all. */
export function isLogLocator(text: string): boolean {
  return LOCATOR.test(text)
}
