import { ADDRESS_KINDS, ADDRESSES, type Address, channelKind, mapAddresses } from '../party/channel.ts'
import type { FoundContact } from '../party/contact.ts'
import { FAULTY_COUNT_MIN } from './data-faults.ts'
import type { PlaceFinding } from './find-fields.ts'
import type { AddressFinding } from './judge-addresses.ts'
import { createNewest } from './newest.ts'

/** Number of parties whose addresses are kept. */
const NEWEST_PARTY_COUNT = 500

/** A member whose contact is known. */
export interface JudgedMember {
  readonly partyLocator: string
  readonly contact: FoundContact
  /** Another version may have stored a channel that this one does not know. */
  readonly preferredChannel: string
}

export interface FoundAddress extends PlaceFinding<Address, AddressFinding> {
  /** True if the member is told by this address. */
  readonly isNeeded: boolean
}

/**
 * Returns a function that judges the addresses in answers; `repeated`: at least five of the newest parties share an address, more
 * than a household. An unchanged answer about a member does not count again, since one customer may have many events. It keeps the
 * addresses of the newest parties and exposes none.
 *
 * @param places of each address; none if policy administration has no such addresses
 */
export function createAddressFinder(places: AddressPointers) {
  const sought = ADDRESSES.filter((address) => places[address].length > 0)
  const newest = mapAddresses(() => createNewest(NEWEST_PARTY_COUNT))
  const answers = createNewest(NEWEST_PARTY_COUNT)
  const saysMore = ({ partyLocator, contact, preferredChannel }: JudgedMember) => {
    const answer = [preferredChannel, contact.without, ...sought.map((address) => contact[address])].join(
      '\n',
    )
    const isNew = answers.get(partyLocator) !== answer
    if (isNew) answers.add(partyLocator, answer)
    return isNew
  }
  return (members: readonly JudgedMember[]): FoundAddress[] => {
    const changed = members.filter(saysMore)
    for (const { partyLocator, contact } of changed)
      for (const address of sought)
        if (findAddress(address, contact) === 'address')
          newest[address].add(partyLocator, contact[address] ?? '')
    return changed.flatMap(({ contact, preferredChannel }) =>
      sought.map((address) => {
        const finding = findAddress(address, contact)
        const isShared =
          finding === 'address' && newest[address].countOf(contact[address] ?? '') >= FAULTY_COUNT_MIN
        const isNeeded = channelKind(preferredChannel)?.address === address
        return { place: address, finding: isShared ? 'repeated' : finding, isNeeded }
      }),
    )
  }
}

export type AddressPointers = Readonly<Record<Address, readonly unknown[]>>

function findAddress(address: Address, contact: FoundContact): AddressFinding {
  const value = contact[address]
  if (value === null) return contact.without?.includes(address) ? 'no place' : 'blank'
  return ADDRESS_KINDS[address].form.test(value) ? 'address' : 'no address'
}
