import { z } from 'zod'
import { CHANNELS } from '../../decide/party/channel.ts'
import { STATUSES } from './status.ts'

const text = z.string().min(1)
/** In the format of an entry, since a list compares it with those as text. */
const time = z.iso.datetime({ precision: 6 })

/**
 * The filters of the log, as a request stores them; an entry must match all of them. The API, the console, the command line and the
 * sentences about requests have a table by these names: a filter that one of them does not know does not compile.
 */
export const logFilter = z.strictObject({
  locator: text.optional(),
  partyLocator: text.optional(),
  eventType: text.optional(),
  status: z.enum(STATUSES).optional(),
  /** Only entries whose member was not told and will not be: SKIPPED, or FAILED past the last retry. */
  notTold: z.literal(true).optional(),
  channel: z.enum(CHANNELS).optional(),
  eventId: text.optional(),
  /** The claim, policy or invoice that the event is about. */
  reference: text.optional(),
  /** The failure reason, or its part before a colon. */
  reason: text.optional(),
  /** The beginning of the failure reason. */
  reasonPrefix: text.optional(),
  /** The rule of the last decision. */
  rule: text.optional(),
  /** The id of a request that one of its decisions belongs to. */
  request: z
    .string()
    .regex(/^\d{1,18}$/, 'must be a whole number')
    .optional(),
  from: time.optional(),
  /** `createdAt` is earlier than this time. */
  to: time.optional(),
})
type StoredLogFilter = Readonly<z.infer<typeof logFilter>>
export type LogFilterName = keyof StoredLogFilter

/** Filters of the log. Times are in the format of an entry. */
export type LogFilter<Time = string> = Omit<StoredLogFilter, 'from' | 'to'> & {
  readonly from?: Time | undefined
  readonly to?: Time | undefined
}

/** Filters that people choose: a name or a search leads to an entry by its locator, and commands compare the beginning of a reason. */
export type ChosenFilterName = Exclude<LogFilterName, 'locator' | 'reasonPrefix'>
