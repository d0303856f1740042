/**
 * What policy administration answered about one party. A null address is not on file.
 * `error` is a reason that an operator can act on; it carries no contact data. `unasked`: no request was made for
 * this party, so that the failure says nothing about it.
 */
export type Contact =
  | { state: 'found'; email: string | null; phone: string | null }
  | { state: 'not found' }
  | { state: 'unresolved'; error: string; unasked: boolean }

/** Contacts by party locator. */
export type Contacts = ReadonlyMap<string, Contact>

/** Looks parties up; `onAnswer` (a heartbeat) is awaited now and then while answers come in. */
export type LookUpContacts = (
  partyLocators: readonly string[],
  onAnswer?: () => Promise<void>,
) => Promise<Contacts>

/** How many contacts are in each state. */
export function countByState(contacts: Contacts): Record<Contact['state'], number> {
  const counts = { found: 0, 'not found': 0, unresolved: 0 }
  for (const { state } of contacts.values()) counts[state]++
  return counts
}
