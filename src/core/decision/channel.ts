/**
 * Ways to reach a member (the specification's NotificationChannel), with the address on file that each needs. A channel that
 * needs none has no sender: the log row is the message.
 */
export const ADDRESS_OF = { EMAIL: 'email', SMS: 'phone', IN_APP: null } as const
export type Channel = keyof typeof ADDRESS_OF
export const CHANNEL_NAMES = {
  EMAIL: 'email',
  SMS: 'text message',
  IN_APP: 'app message',
} as const satisfies Record<Channel, string>
export const CHANNELS = Object.keys(ADDRESS_OF) as readonly Channel[]

/** For the API document. */
export const KNOWN_CHANNELS = `One of ${CHANNELS.join(', ')}, or one that another version of the service stored`

/** False for a channel that only another version of the service knows. */
export function isChannel(text: unknown): text is Channel {
  return typeof text === 'string' && Object.hasOwn(ADDRESS_OF, text)
}

/** A stored channel in words. One that only another version knows is its own name. */
export function nameOfChannel(channel: string): string {
  return isChannel(channel) ? CHANNEL_NAMES[channel] : channel
}

export type Address = NonNullable<(typeof ADDRESS_OF)[Channel]>
/** A channel that needs an address, and so a sender. */
export type AddressedChannel = {
  [C in Channel]: (typeof ADDRESS_OF)[C] extends null ? never : C
}[Channel]
export const ADDRESSED_CHANNELS = CHANNELS.filter(
  (channel): channel is AddressedChannel => ADDRESS_OF[channel] !== null,
)
export const ADDRESSES: readonly Address[] = ADDRESSED_CHANNELS.map((channel) => ADDRESS_OF[channel])

/** Used for a party without preferences (specification, dispatch rule 2). */
export const DEFAULT_CHANNEL: Channel = 'EMAIL'
