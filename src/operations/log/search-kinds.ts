/** Things that a searched text may name, the most telling first, each with its filter of the log. */
const FILTERS = {
  entry: 'locator',
  event: 'eventId',
  member: 'partyLocator',
  reference: 'reference',
  'event type': 'eventType',
  reason: 'reason',
} as const
type SearchKind = keyof typeof FILTERS
export const SEARCH_KINDS = Object.keys(FILTERS) as SearchKind[]

/** The filter for the entries of something that was found. */
export function filterFor({ kind, value }: { readonly kind: SearchKind; readonly value: string }): {
  readonly [Name in (typeof FILTERS)[SearchKind]]?: string
} {
  return { [FILTERS[kind]]: value }
}

/** For a search that found nothing: what was looked for, and the next step. */
export const LOOKED_FOR =
  'Looked for members, claims, policies and invoices by name, beginning or last digits, for event types and reasons by their words, and for events and entries by their whole id.'
export const SEARCH_ON = 'Type a number from its beginning, or more of its digits.'
