import type { Channel } from '../decision/channel.ts'
import type { Facts } from '../decision/facts.ts'
import type { Outcome } from '../decision/verdict.ts'
import type { Status } from './entry.ts'

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

/** One row of the notification log, whole. */
export interface LogRow extends LogEntry {
  readonly lastAttemptAt: string | null
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
  /** When what was said and inserted was erased; null where it was not. */
  readonly erasedAt: string | null
  readonly topic: string
  readonly partition: number
  /** In decimal digits: offsets outgrow a JSON number. */
  readonly offset: string
  readonly traceId: string | null
}

/** A change of preferences that a decision followed. */
export interface FollowedChange {
  readonly changedAt: string
  /** Subject of the token; null where there was none. */
  readonly changedBy: string | null
  /** Since when the party had been opted out of the event's type without a break; null where it was not. */
  readonly optedOutAt: string | null
}

/** A decision with what is recorded around it. */
export interface RecordedDecision extends DecisionRecord {
  /** Null where the party had no preferences, or none whose change is on record. */
  readonly preferenceChange: FollowedChange | null
}

/** One log entry with the decisions behind it, oldest first. */
export interface RecordedLogEntry extends LogEntry {
  readonly decisions: readonly RecordedDecision[]
}

/** A decision in words, by the rule table of its time. */
export interface ExplainedDecision extends RecordedDecision {
  /** One sentence: what was done, by which rule, for which facts, and why the rule is as it is. */
  readonly why: string
  /** The rule's sentence for people; null where the table of its time cannot be told. */
  readonly because: string | null
  /** The rules above it, from top to bottom, each with the first of its cells that did not match. */
  readonly rulesAbove: readonly { readonly ruleId: string; readonly mismatch: string }[]
}

/** One log entry with all that explains it, oldest decision first. */
export interface ExplainedLogEntry extends LogEntry {
  readonly decisions: readonly ExplainedDecision[]
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

/** The position of an entry in the order of the log: newest first by creation time, then by locator. It never changes. */
export type LogPosition = Pick<LogEntry, 'createdAt' | 'locator'>

/** Which part of a list: at most `limit` entries, those that follow the position `after`, else the first. */
export interface LogPageRequest {
  readonly limit: number
  readonly after: LogPosition | null
}

/** Entries newest first. `next` is the `after` of the next page; null on the last one. */
export interface LogPage {
  readonly items: readonly LogEntry[]
  readonly next: LogPosition | null
}

/** `NTF-` and a UUID (the specification leaves the identifier open). */
const LOCATOR = /^NTF-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

/** Whether a text can be the locator of a log entry at all. */
export function isLogLocator(text: string): boolean {
  return LOCATOR.test(text)
}
