import type { Channel } from '../decision/channel.ts'
import { csvLine } from '../text/csv.ts'
import type { RulesOfOld } from '../why/rules.ts'
import type { LogPosition } from './log-entry.ts'

/** A log entry whose member was not told, and will not be: it is SKIPPED, or FAILED past its last retry. */
export interface NotTold {
  readonly locator: string
  readonly eventId: string
  readonly partyLocator: string | null
  readonly eventType: string
  readonly channel: Channel
  readonly status: 'SKIPPED' | 'FAILED'
  readonly failureReason: string | null
  readonly attemptCount: number
  /** ISO 8601 in UTC with six decimals. */
  readonly createdAt: string
  /** The rule of its last decision, and the revision of the table that this one stands in; null where no decision explains the row. */
  readonly ruleId: string | null
  readonly ruleTableRevision: string | null
}

/** With the sentence for people of its rule; null where the table of its time cannot be told. */
export interface ExplainedNotTold extends NotTold {
  readonly because: string | null
}

/** Which entries: those that every value given holds for. Times are as in an entry. */
export interface NotToldFilter {
  /** `createdAt` is this time or later. */
  readonly since: string
  readonly eventType?: string | undefined
  readonly rule?: string | undefined
}

/**
 * Entries newest first. `next` is the `after` of the next page, null on the last one. A page can hold fewer entries than
 * were asked for, or none, and yet not be the last one.
 */
export interface NotToldPage<Item extends NotTold = NotTold> {
  readonly items: readonly Item[]
  readonly next: LogPosition | null
}

/** What a list of them shows as CSV, in this order. */
const COLUMNS = [
  'createdAt',
  'locator',
  'eventId',
  'partyLocator',
  'eventType',
  'channel',
  'status',
  'attemptCount',
  'failureReason',
  'ruleId',
  'because',
] as const satisfies readonly (keyof ExplainedNotTold)[]

/** The first line of a list as CSV. */
export const NOT_TOLD_CSV_HEAD = csvLine(COLUMNS)

/** One line of a list as CSV. */
export function notToldCsvLine(item: ExplainedNotTold): string {
  return csvLine(COLUMNS.map((column) => item[column]))
}

/** The rule tables that decided entries. */
export function revisionsOf(items: readonly NotTold[]): { readonly ruleTableRevision: string }[] {
  return items.flatMap(({ ruleTableRevision }) => (ruleTableRevision === null ? [] : [{ ruleTableRevision }]))
}

/** Adds to entries what their rules say for people; `rulesOf` holds the rules of all their revisions. */
export function explainNotTold(items: readonly NotTold[], rulesOf: RulesOfOld): ExplainedNotTold[] {
  return items.map((item) => {
    const rules = item.ruleTableRevision === null ? undefined : rulesOf.get(item.ruleTableRevision)
    const rule = typeof rules === 'object' ? rules.find(({ id }) => id === item.ruleId) : undefined
    return { ...item, because: rule?.because ?? null }
  })
}
