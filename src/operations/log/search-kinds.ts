import { squash } from '../../service/text/find-by-words.ts'

/** Kinds of things that a searched text may name, most specific first, each with its filter of the log. */
const FILTERS = {
  entry: 'locator',
  event: 'eventId',
  member: 'partyLocator',
  reference: 'reference',
  'event type': 'eventType',
  reason: 'reason',
} as const
export const NUMBERED_KINDS = ['member', 'reference'] as const
/** Maximum number of names of each numbered kind that are listed for an ending. */
export const LISTED_COUNT_MAX = 20

type SearchKind = keyof typeof FILTERS
export const SEARCH_KINDS = Object.keys(FILTERS) as SearchKind[]

/** The filter for the entries of a found name. */
export function filterFor({ kind, value }: { readonly kind: SearchKind; readonly value: string }): {
  readonly [Name in (typeof FILTERS)[SearchKind]]?: string
} {
  return { [FILTERS[kind]]: value }
}

/**
 * Returns the one name that a text means: equal to it, or the only one with its letters and digits. A name that only begins or ends
 * with it may be another member's.
 */
export function findMeant<Hit extends { readonly value: string }>(
  text: string,
  { hits, similar }: { readonly hits: readonly Hit[]; readonly similar: readonly Hit[] },
): Hit | null {
  const meant = hits.length > 0 ? hits : similar.filter(({ value }) => squash(value) === squash(text))
  return meant.length === 1 ? (meant[0] ?? null) : null
}

interface Ending {
  readonly kind: (typeof NUMBERED_KINDS)[number]
  readonly count: number
  readonly isMore: boolean
}

const MANY = { member: 'members', reference: 'claims, policies or invoices' } as const

/** A note that more names begin with a text than are listed. */
export function describeBeginning(kind: Ending['kind']): string {
  return `More ${MANY[kind]} match: type more digits.`
}

/** A note on the number of names that end in a text, if not all are listed. */
export function describeEnding({ kind, count, isMore }: Ending): string {
  const many = MANY[kind]
  return isMore
    ? `More than ${count} ${many} match: type more digits.`
    : `${count} ${many} match: the newest ${LISTED_COUNT_MAX} are listed.`
}

/** For a search without result: what was searched, and the next step. */
export const LOOKED_FOR =
  'Searched members, claims, policies and invoices whole or by their beginning, by their last letters and digits (members only if they have preferences), for event types and reasons by their words, and for events and entries by their whole id.'
export const SEARCH_ON =
  'Type the last digits of a number, or all of it; a member without preferences is found by the beginning of the number, or all of it.'
