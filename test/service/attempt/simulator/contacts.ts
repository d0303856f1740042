import type { PartiesAgain } from '../../../../src/service/attempt/look-up.ts'
import { ADDRESSES } from '../../../../src/service/decide/party/channel.ts'
import type { Contact } from '../../../../src/service/decide/party/contact.ts'
import { aFound } from '../../build.ts'
import type { Actor } from './actor.ts'
import { addressOf } from './messages.ts'
import type { World } from './world.ts'

/** Policy administration: it may answer for the first party alone, fail, or not know a party. */
export async function lookUpContacts(
  world: World,
  actor: Actor,
  parties: readonly string[],
): Promise<ReadonlyMap<string, Contact>> {
  await actor.step()
  const askedCount = world.random.chance(0.1) ? 1 : parties.length
  return new Map(parties.slice(0, askedCount).map((party) => [party, contactOf(world, party)]))
}

/** The same, for retries and requests; it is never known to be down. */
export const parties = (world: World, actor: Actor): PartiesAgain => ({
  lookUpAgain: (asked) => lookUpContacts(world, actor, asked),
  isDown: () => false,
})

function contactOf({ random }: World, party: string): Contact {
  if (random.chance(0.2)) return { state: 'unresolved', error: 'HTTP 500', costsNoAttempt: false }
  if (random.chance(0.1)) return { state: 'not found' }
  return aFound(Object.fromEntries(ADDRESSES.map((address) => [address, addressOf(address, party)])))
}
