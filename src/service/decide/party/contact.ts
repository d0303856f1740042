import { type Address, CHANNEL_KINDS, type Channel } from './channel.ts'

/**
 * Policy administration's answer about one party. `error` is for operators and contains no contact data; `codes` lists the codes of
 * its causes, outermost first. `costsNoAttempt`: policy administration was not asked about this party, or refused the service's
 * credential. `wrongParty`: the answer named another party.
 */
export type Contact =
  | FoundContact
  | { state: 'not found' }
  | {
      state: 'unresolved'
      error: string
      codes?: readonly string[]
      costsNoAttempt: boolean
      wrongParty?: true
    }

export type FoundContact = { state: 'found' } & { [A in Address]: string | null } & {
  /** Addresses whose places are missing from the answer; absent if none is. */
  readonly without?: readonly Address[]
}

/** Contacts by party locator; parties not asked in time are absent. */
export type Contacts = ReadonlyMap<string, Contact>

/** The address of a message by this channel; null if the channel needs none. */
export function addressFor(channel: Channel, contact: Contact | undefined): string | null {
  const address = CHANNEL_KINDS[channel].address
  return contact?.state === 'found' && address !== null ? contact[address] : null
}

/** Counts contacts by state. Unresolved ones whose answer named another party count separately. */
export function countByState(contacts: Contacts): Record<Contact['state'] | 'wrong party', number> {
  const counts = { found: 0, 'not found': 0, unresolved: 0, 'wrong party': 0 }
  for (const contact of contacts.values()) {
    counts[contact.state === 'unresolved' && contact.wrongParty ? 'wrong party' : contact.state]++
  }
  return counts
}
