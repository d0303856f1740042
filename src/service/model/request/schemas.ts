import { z } from 'zod'
import { logEntry } from '../log/log-entry.ts'
import { LOG_FILTER_LIST, type LogFilter } from '../log/log-filters.ts'
import type { Progress } from './request.ts'

/** Maximum number of locators or ids in a request; use a filter for more. */
export const NAMED_COUNT_MAX = 1_000

const text = z.string().min(1)
const digits = z.string().regex(/^\d{1,18}$/, 'must be a whole number')

/** In the format of an entry, since a list compares it with those as text. */
const time = z.iso.datetime({ precision: 6 })
const VALUES = { text, time, id: digits, true: z.literal(true) }
/** A filter of the log as a request stores it. */
export type RetryFilter = LogFilter & { readonly to: string }
const retryFilter = z.strictObject({
  ...Object.fromEntries(
    LOG_FILTER_LIST.map(([name, { values }]) => [
      name,
      (typeof values === 'string' ? VALUES[values] : z.enum(values)).optional(),
    ]),
  ),
  to: time,
}) as unknown as z.ZodType<RetryFilter, RetryFilter>

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
  /** Rejected earlier than this time. */
  before: text.optional(),
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

/** The unreadable record batch that begins at an offset; `to` is its last offset, if its header does not tell. */
export const skipTarget = z.strictObject({
  topic: text,
  partition: z.int().min(0),
  offset: digits,
  to: digits.optional(),
})
export type SkipTarget = z.infer<typeof skipTarget>

interface RequestKindForm {
  readonly target: z.ZodType
  /** The last item that was processed. */
  readonly position: z.ZodType
  /** It waits while policy administration is down. */
  readonly needsLookUps: boolean
}

/** The kinds of requests that `processPage` carries out. A hold is not among them: nothing is processed. */
const REQUESTS = {
  retry: {
    target: retryTarget,
    position: logEntry.pick({ createdAt: true, locator: true }),
    needsLookUps: true,
  },
  redrive: { target: rejectedTarget, position: digits, needsLookUps: true },
  dismiss: { target: rejectedTarget, position: digits, needsLookUps: false },
  skip: { target: skipTarget, position: z.never(), needsLookUps: false },
} as const satisfies Readonly<Record<string, RequestKindForm>>

type Requests = typeof REQUESTS
type RequestKind = keyof Requests
export const REQUEST_KINDS = Object.keys(REQUESTS) as readonly RequestKind[]
export const LOOK_UP_KINDS = REQUEST_KINDS.filter((kind) => REQUESTS[kind].needsLookUps)

/** The items of a request, by its kind. */
export type RequestTarget = {
  readonly [Kind in RequestKind]: { readonly kind: Kind; readonly target: z.infer<Requests[Kind]['target']> }
}[RequestKind]
export const requestTarget: z.ZodType<RequestTarget> = unionByKind({}, () => ({}))

/** An item that a request left unchanged: a log entry, a rejected message or a partition, and the reason. */
const unchangedItem = z.object({
  item: z.string(),
  reason: z.string(),
  /** Number of unlisted items with this reason. */
  more: z.int().optional(),
})

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
  /** The reason why it waits or was stopped, or null. */
  note: z.string().nullable(),
  endedAt: z.string().nullable(),
})
export type StoredRequest = Readonly<z.infer<typeof storedRequest>>

const person = storedRequest.pick({ id: true, by: true, because: true })

const { counts, unchanged } = storedRequest.shape

/** A request that a replica works on, with the state between two of its pages. */
export type TakenRequest = {
  readonly [Kind in RequestKind]: Extract<RequestTarget, { readonly kind: Kind }> &
    Readonly<z.infer<typeof person>> & {
      /** `position` is null before the first item. A page is written only if it follows this one. */
      readonly progress: Progress<z.infer<Requests[Kind]['position']> | null>
    }
}[RequestKind]
export const takenRequest: z.ZodType<TakenRequest> = unionByKind(person.shape, ({ position }) => ({
  progress: z.object({ position: position.nullable(), counts, unchanged }),
}))

function unionByKind<Union>(shape: z.ZodRawShape, shapeOf: (form: RequestKindForm) => z.ZodRawShape) {
  const kinds = REQUEST_KINDS.map((kind) =>
    z.object({ kind: z.literal(kind), target: REQUESTS[kind].target, ...shape, ...shapeOf(REQUESTS[kind]) }),
  )
  return z.union(kinds) as unknown as z.ZodType<Union>
}
export type RetryRequest = Extract<TakenRequest, { readonly kind: 'retry' }>
export type RejectedRequest = Extract<TakenRequest, { readonly kind: 'redrive' | 'dismiss' }>

/** The age of an item of a request: up to a day, up to a week, more. */
export const AGES = ['day', 'week', 'older'] as const
export type Age = (typeof AGES)[number]
const ageCounts = z.object({ day: z.int(), week: z.int(), older: z.int() } satisfies Record<Age, z.ZodInt>)
export type AgeCounts = z.infer<typeof ageCounts>

/** A preview of a request's items. */
export const requestPreview = z.object({
  /** The number of items, up to a limit. */
  count: z.int(),
  isMore: z.boolean(),
  /** The number of items that would change, by age. Absent from a replica of a version before. */
  ages: ageCounts.optional(),
  /** Items by their reason, the largest group first; `isUnchanged`: the request would leave them as they are, for this reason. */
  groups: z
    .array(
      z.object({
        reason: z.string(),
        count: z.int(),
        isUnchanged: z.boolean(),
        /** The prefix that the failure reasons of its log entries share. */
        reasonPrefix: z.string().optional(),
      }),
    )
    .readonly(),
})
export type RequestPreview = Readonly<z.infer<typeof requestPreview>>
