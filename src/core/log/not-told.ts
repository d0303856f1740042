import { z } from 'zod'
import { logEntry } from './log-entry.ts'
import type { LogPosition } from './log-page.ts'

/** The statuses of entries whose members were not told. */
export const NOT_TOLD_STATUSES = ['SKIPPED', 'FAILED'] as const

/** A log entry whose member was not told, and will not be: it is SKIPPED, or FAILED past its last retry. */
export const notTold = logEntry
  .pick({
    locator: true,
    eventId: true,
    partyLocator: true,
    eventType: true,
    channel: true,
    status: true,
    failureReason: true,
    attemptCount: true,
    createdAt: true,
  })
  .extend({
    status: z.enum(NOT_TOLD_STATUSES),
    /** The rule of its last decision and the revision of that rule's table; null where no decision explains the row. */
    ruleId: z.string().nullable(),
    ruleTableRevision: z.string().nullable(),
  })
export type NotTold = Readonly<z.infer<typeof notTold>>

/** With its rule's sentence for people; null where the table of its time cannot be read. */
export const explainedNotTold = notTold.extend({ because: z.string().nullable() })
export type ExplainedNotTold = Readonly<z.infer<typeof explainedNotTold>>

/** Which entries: those that every value given holds for. Times are as in an entry. */
export interface NotToldFilter<Time = string> {
  /** `createdAt` is this time or later. */
  readonly since: Time
  readonly eventType?: string | undefined
  readonly rule?: string | undefined
  /** The failure reason, or what comes before its first colon. */
  readonly reason?: string | undefined
  readonly status?: (typeof NOT_TOLD_STATUSES)[number] | undefined
}

/**
 * Entries newest first. `next` is the `after` of the next page, null on the last one. A page can hold fewer entries than
 * were asked for, or none, and yet not be the last one.
 */
export interface NotToldPage<Item extends NotTold = NotTold> {
  readonly items: readonly Item[]
  readonly next: LogPosition | null
}

/** Of those who were not told: how many events, and of how many parties. An event can name no party. */
const both = { eventCount: z.int(), partyCount: z.int() }

/** Those who were not told, counted by reason and by party: the most frequent ones. */
export const notToldCounts = z.object({
  ...both,
  /** The failure reason up to its first colon. */
  byReason: z.array(z.object({ reason: z.string(), ...both })),
  reasonCount: z.int(),
  byParty: z.array(z.object({ partyLocator: z.string(), eventCount: z.int() })),
  /** Null: all are counted. Else only those since then were: there are more rows than are looked at. */
  cutAt: z.string().nullable(),
})
export type NotToldCounts = Readonly<z.infer<typeof notToldCounts>>
