import type { Channel } from './channel.ts'
import type { Status } from './entry.ts'
import type { Facts } from './facts.ts'
import type { Outcome } from './rules/verdict.ts'

/** One row of the notification log, as it is read. Times are ISO 8601 in UTC with up to six decimals. */
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

/** Which log entries to list: those that equal every value given. */
export interface LogFilter {
  readonly partyLocator?: string | undefined
  readonly eventType?: string | undefined
  readonly status?: Status | undefined
}

/** Which part of a list: at most `limit` entries, those after the one whose locator is `after`, else the first. */
export interface LogPageRequest {
  readonly limit: number
  readonly after: string | null
}

/** Entries newest first. `nextCursor` is the `after` of the next page, that is the last locator; null on the last page. */
export interface LogPage {
  readonly items: readonly LogEntry[]
  readonly nextCursor: string | null
}

/** `NTF-` and a UUID (the specification leaves the identifier open). */
const LOCATOR = /^NTF-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

/** Whether a text can be the locator of a log entry at all. */
export function isLogLocator(text: string): boolean {
  return LOCATOR.test(text)
}
