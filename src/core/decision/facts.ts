import type { Channel } from './channel.ts'

/** `missing`: the event names no party that could be looked up. */
export const PARTY_STATES = ['found', 'not found', 'unresolved', 'missing'] as const
export type PartyState = (typeof PARTY_STATES)[number]

/**
 * All that a rule may look at. No contact data, only whether there is some, so that facts can be stored.
 * `onFile` values are null (unknown) unless the party is found; a missing party has no preferences,
 * that is `optedOut: false` and the default channel.
 */
export interface Facts {
  readonly eventType: string
  readonly party: PartyState
  readonly optedOut: boolean
  readonly preferredChannel: Channel
  readonly emailOnFile: boolean | null
  readonly phoneOnFile: boolean | null
}
