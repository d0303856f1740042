interface AnyChannel {
  /** In words: "text message". */
  readonly name: string
  readonly hasSubject: boolean
  /** True if the length of a message is counted in segments of an SMS. */
  readonly isSegmented: boolean
}

/** A channel that needs an address, and so a sender. */
interface Addressed extends AnyChannel {
  /** Key of the address in a contact; channels may share one. */
  readonly address: string
  /** The address in words: "phone number". */
  readonly noun: string
}

/** A channel without a sender: the log row is the message. */
interface Unaddressed extends AnyChannel {
  readonly address: null
  /** In words, of a message: "stored for the app". */
  readonly stored: string
}

/** Ways to reach a member (the specification's NotificationChannel). */
export const CHANNEL_KINDS = {
  EMAIL: { name: 'email', address: 'email', noun: 'email address', hasSubject: true, isSegmented: false },
  SMS: { name: 'text message', address: 'phone', noun: 'phone number', hasSubject: false, isSegmented: true },
  IN_APP: {
    name: 'app message',
    address: null,
    stored: 'stored for the app',
    hasSubject: true,
    isSegmented: false,
  },
} as const satisfies Readonly<Record<string, Addressed | Unaddressed>>

export type Channel = keyof typeof CHANNEL_KINDS
export const CHANNELS = Object.keys(CHANNEL_KINDS) as readonly Channel[]

/** For the API document. */
export const KNOWN_CHANNELS = `One of ${CHANNELS.join(', ')}, or one that another version of the service stored`

/** False for a channel that only another version of the service knows. */
export function isChannel(text: unknown): text is Channel {
  return typeof text === 'string' && Object.hasOwn(CHANNEL_KINDS, text)
}

/** Null for a channel that only another version knows. */
export function channelKind(channel: string): Addressed | Unaddressed | null {
  return isChannel(channel) ? CHANNEL_KINDS[channel] : null
}

/** The subject as the member sees it: null on a channel that has none. */
export function shownSubject(channel: string, subject: string | null): string | null {
  return channelKind(channel)?.hasSubject === false ? null : subject
}

/** A stored channel in words. One that only another version knows is its own name. */
export function nameOfChannel(channel: string): string {
  return channelKind(channel)?.name ?? channel
}

export type AddressedChannel = {
  [C in Channel]: (typeof CHANNEL_KINDS)[C]['address'] extends null ? never : C
}[Channel]
export const ADDRESSED_CHANNELS = CHANNELS.filter(isAddressed)

export function isAddressed(channel: Channel): channel is AddressedChannel {
  return isChannel(channel) && CHANNEL_KINDS[channel].address !== null
}

export type Address = (typeof CHANNEL_KINDS)[AddressedChannel]['address']
/** The addresses that a contact may have, in words. */
export const ADDRESS_NOUNS: ReadonlyMap<Address, string> = new Map(
  ADDRESSED_CHANNELS.map((channel) => [CHANNEL_KINDS[channel].address, CHANNEL_KINDS[channel].noun]),
)
export const ADDRESSES: readonly Address[] = [...ADDRESS_NOUNS.keys()]

/** Used for a party without preferences (specification, dispatch rule 2). */
export const DEFAULT_CHANNEL: Channel = 'EMAIL'
