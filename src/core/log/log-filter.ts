import type { Channel } from '../party/channel.ts'
import type { Status } from './status.ts'

/** Filters of the log; an entry must match all of them. Times are in the format of an entry. */
export interface LogFilter<Time = string> {
  readonly locator?: string | undefined
  readonly partyLocator?: string | undefined
  readonly eventType?: string | undefined
  readonly status?: Status | undefined
  /** Only entries whose member was not told and will not be: SKIPPED, or FAILED past the last retry. */
  readonly notTold?: true | undefined
  readonly channel?: Channel | undefined
  readonly eventId?: string | undefined
  /** The claim, policy or invoice that the event is about. */
  readonly reference?: string | undefined
  /** The failure reason, or its part before a colon. */
  readonly reason?: string | undefined
  /** The beginning of the failure reason. */
  readonly reasonPrefix?: string | undefined
  /** The rule of the last decision. */
  readonly rule?: string | undefined
  /** The id of a request that one of its decisions belongs to. */
  readonly request?: string | undefined
  readonly from?: Time | undefined
  /** `createdAt` is earlier than this time. */
  readonly to?: Time | undefined
}
