import { squash } from '../../service/text/find-by-words.ts'

/** Things that a searched text may name, the most telling first, each with its filter of the log. */
const FILTERS = {
  entry: 'locator',
  event: 'eventId',
  member: 'partyLocator',
  reference: 'reference',
  'event type': 'eventType',
  reason: 'reason',
} as const
export const NUMBERED_KINDS = ['member', 'reference'] as const
/** Names of each numbered kind that are listed if they only end so. */
export const LISTED_COUNT_MAX = 20

type SearchKind = keyof typeof FILTERS
export const SEARCH_KINDS = Object.keys(FILTERS) as SearchKind[]

/** The filter for the entries of something that was found. */
export function filterFor({ kind, value }: { readonly kind: SearchKind; readonly value: string }): {
  readonly [Name in (typeof FILTERS)[SearchKind]]?: string
} {
  return { [FILTERS[kind]]: value }
}

/**
 * Returns the one name that a text means: named so, or alone in its letters and digits. A name that only begins or ends so may be
 * another member's.
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

/** Says that more names begin with a text than are listed. */
export function describeBeginning(kind: Ending['kind']): string {
  return `More ${MANY[kind]} begin so: type more of the number.`
}

/** Says how many names end in a text, if more do than are listed. */
export function describeEnding({ kind, count, isMore }: Ending): string {
  const many = MANY[kind]
  return isMore
    ? `More than ${count} ${many} end so: type more of the number.`
    : `${count} ${many} end so: the newest ${LISTED_COUNT_MAX} are listed.`
}

/** For a search that found nothing: what was looked for, and the next step. */
export const LOOKED_FOR =
  'Looked for members, claims, policies and invoices whole or by their beginning, by their last letters and digits (members only if they have preferences), for event types and reasons by their words, and for events and entries by their whole id.'
export const SEARCH_ON =
  'Type the last digits of a number, or all of it; a member without preferences is found by the beginning of the number, or all of it.'
