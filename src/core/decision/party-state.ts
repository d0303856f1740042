/** `missing`: the event names no party that could be looked up. */
export const PARTY_STATES = ['found', 'not found', 'unresolved', 'missing'] as const
export type PartyState = (typeof PARTY_STATES)[number]
