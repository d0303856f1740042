import type { Channel } from '../channel.ts'
import type { PartyState } from '../facts.ts'
import type { EventTypeCell } from './event-types.ts'
import type { Outcome } from './verdict.ts'

/** The column headings of the rule table, for people, in their usual order. */
export const COLUMNS = [
  'rule',
  'event type',
  'party',
  'opted out',
  'preferred channel',
  'email on file',
  'phone on file',
  'outcome',
  'send by',
  'reason',
  'because',
] as const
export type Column = (typeof COLUMNS)[number]

/** When a rule applies: all of these hold. Null means any. */
export interface When {
  readonly eventType: EventTypeCell | null
  readonly party: PartyState | null
  readonly optedOut: boolean | null
  readonly preferredChannel: Channel | null
  /** Not null matches only a found party: of others it is unknown what is on file. */
  readonly emailOnFile: boolean | null
  readonly phoneOnFile: boolean | null
}

/** One row of the rule table. */
export interface Rule {
  readonly id: string
  /** The line in the file, 1 being the headings. */
  readonly row: number
  readonly when: When
  readonly outcome: Outcome
  /** Null means by the preferred channel. Only a SEND has one. */
  readonly sendBy: Channel | null
  /** Null on SEND, text on SKIP and FAIL. */
  readonly reason: string | null
  /** A sentence for people. */
  readonly because: string
}
