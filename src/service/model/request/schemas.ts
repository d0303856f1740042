import { z } from 'zod'
import { logEntry } from '../log/log-entry.ts'
import { logFilter } from '../log/log-filter.ts'

/** Locators or ids that one request names; more are asked for by a filter. */
export const NAMED_COUNT_MAX = 1_000

const text = z.string().min(1)
const digits = z.string().regex(/^\d{1,18}$/, 'must be a whole number')

const retryFilter = logFilter.required({ to: true })
export type RetryFilter = Readonly<z.infer<typeof retryFilter>>

/** True: the messages are read again, by the envelope map in force. */
const readAgain = z.literal(true).optional()

/** Log entries by their locators, or those that match a filter and were created before `to`. */
export const retryTarget = z.union([
  z.strictObject({ locators: z.array(text).min(1).max(NAMED_COUNT_MAX).readonly(), readAgain }),
  z.strictObject({ filter: retryFilter, readAgain }),
])
export type RetryTarget = z.infer<typeof retryTarget>

const rejectedFilter = z.strictObject({
  topic: text.optional(),
  code: text.optional(),
  since: text.optional(),
  upTo: digits,
})
/** The filters of rejected messages, as a request stores them. */
export type RejectedFilterName = keyof z.infer<typeof rejectedFilter>

/** Rejected messages by their ids, or the unsettled ones that match a filter, up to an id. */
export const rejectedTarget = z.union([
  z.strictObject({ ids: z.array(digits).min(1).max(NAMED_COUNT_MAX).readonly() }),
  z.strictObject({ filter: rejectedFilter }),
])
export type RejectedTarget = z.infer<typeof rejectedTarget>

/** The unreadable record batch that begins at an offset; `to` is its last offset, if that cannot be read from it. */
export const skipTarget = z.strictObject({
  topic: text,
  partition: z.int().min(0),
  offset: digits,
  to: digits.optional(),
})
export type SkipTarget = z.infer<typeof skipTarget>

const retryRequest = z.object({ kind: z.literal('retry'), target: retryTarget })
const rejectedRequest = z.object({ kind: z.enum(['redrive', 'dismiss']), target: rejectedTarget })
const skipRequest = z.object({ kind: z.literal('skip'), target: skipTarget })

/** What a request is for, by its kind. */
export const requestTarget = z.discriminatedUnion('kind', [retryRequest, rejectedRequest, skipRequest])
export type RequestTarget = z.infer<typeof requestTarget>

/** An item that a request left unchanged: a log entry, a rejected message or a partition, and the reason. */
const unchangedItem = z.object({ item: z.string(), reason: z.string() })
export type UnchangedItem = z.infer<typeof unchangedItem>

/** A request as stored. Another version may have stored it: its kind and state are any text. */
export const storedRequest = z.object({
  /** Decimal digits. */
  id: z.string(),
  kind: z.string(),
  target: z.unknown(),
  by: z.string(),
  because: z.string(),
  /** ISO 8601. */
  requestedAt: z.string(),
  state: z.string(),
  /** Items by their result; `unchanged` counts those that stayed as they were. */
  counts: z.record(z.string(), z.number()),
  /** The first of the unchanged items. */
  unchanged: z.array(unchangedItem).readonly(),
  /** Why it waits, or why it was stopped; null if there is nothing to say. */
  note: z.string().nullable(),
  endedAt: z.string().nullable(),
})
export type StoredRequest = Readonly<z.infer<typeof storedRequest>>

const person = storedRequest.pick({ id: true, by: true, because: true })

function progressOf<Position extends z.ZodType>(position: Position) {
  return z.object({
    /** The last item that was processed; null before the first. A page is written only if it follows this one. */
    position: position.nullable(),
    counts: storedRequest.shape.counts,
    unchanged: storedRequest.shape.unchanged,
  })
}

/** A request that a replica works on, with the state between two of its pages. */
export const takenRequest = z.discriminatedUnion('kind', [
  retryRequest.extend({
    ...person.shape,
    progress: progressOf(logEntry.pick({ createdAt: true, locator: true })),
  }),
  rejectedRequest.extend({ ...person.shape, progress: progressOf(digits) }),
  skipRequest.extend({ ...person.shape, progress: progressOf(z.never()) }),
])
export type TakenRequest = Readonly<z.infer<typeof takenRequest>>
export type RetryRequest = Extract<TakenRequest, { readonly kind: 'retry' }>
export type RejectedRequest = Extract<TakenRequest, { readonly kind: 'redrive' | 'dismiss' }>

/** The age of an item of a request: up to a day, up to a week, more. */
export const AGES = ['day', 'week', 'older'] as const
export type Age = (typeof AGES)[number]
const ageCounts = z.object({ day: z.int(), week: z.int(), older: z.int() } satisfies Record<Age, z.ZodInt>)
export type AgeCounts = z.infer<typeof ageCounts>

/** What a request would be for, if it were made now. */
export const requestPreview = z.object({
  /** Of items, up to a limit. */
  count: z.int(),
  isMore: z.boolean(),
  /** Those that would change, by age. Absent from a replica of a version before. */
  ages: ageCounts.optional(),
  /** Items by their reason, the largest group first; `isUnchanged`: the request would leave them as they are, for this reason. */
  groups: z.array(z.object({ reason: z.string(), count: z.int(), isUnchanged: z.boolean() })).readonly(),
})
export type RequestPreview = Readonly<z.infer<typeof requestPreview>>
