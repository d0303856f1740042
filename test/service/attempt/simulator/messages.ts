import type { Message } from '../../../../src/service/decide/event/message.ts'
import type { ParseResult } from '../../../../src/service/decide/event/parse-event.ts'
import type { Address } from '../../../../src/service/decide/party/channel.ts'
import type { Random } from '../../../stack/random.ts'
import { aMessage } from '../../build.ts'
import { aParsedEvent } from '../../decide/attempt/build.ts'

export const TOPIC = 'claims'
export const EVENT_IDS = ['a', 'b', 'c', 'd', 'e', 'f'] as const
export const PARTIES = ['party-0', 'party-1', 'party-2'] as const

/** The party that an event is about. */
export const partyOf = (eventId: string) =>
  PARTIES[EVENT_IDS.indexOf(eventId as 'a') % PARTIES.length] ?? PARTIES[0]

export const addressOf = (address: Address, party: string) => `${address} of ${party}`

/** The event id in a message's value. */
export const eventIdOf = (value: Message['value']) => String(value).replace(/[!~?]/g, '')

/**
 * Messages of a partition; `!` makes one that is rejected until it is redriven, `~` another one with the same event id,
 * `?` one whose party only the next envelope map finds.
 */
export function aPartition(random: Random): Message[] {
  return Array.from({ length: 3 + random.below(4) }, (_, i) => {
    const rejected = random.chance(0.15) ? '!' : ''
    return aMessage(BigInt(i), `${rejected}${random.pick(EVENT_IDS)}${random.pick(['', '', '', '~', '?'])}`)
  })
}

/** The message as its producer would publish it, no longer rejected. */
export const repaired = (message: Message): Message => ({
  ...message,
  value: Buffer.from(String(message.value).replace('!', '')),
})

export function parseMessage({ value }: Message, envelopeMapRevision: string): ParseResult {
  const text = String(value)
  if (text.startsWith('!')) return { kind: 'rejection', rejection: { code: 'not-json', error: 'no' } }
  const eventId = eventIdOf(value)
  const partyLocator = text.endsWith('?') && envelopeMapRevision === 'map' ? null : partyOf(eventId)
  return { kind: 'event', event: aParsedEvent(eventId, { partyLocator, reference: text }) }
}
