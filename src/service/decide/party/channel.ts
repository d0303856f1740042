interface AddressKind {
  /** In the headings of sheets, such as "email on file", and in flags. */
  readonly word: Lowercase<string>
  readonly noun: string
  /** Nearly all of them have it. */
  readonly form: RegExp
}

/** The addresses of a contact, by the name of their field. */
export const ADDRESS_KINDS = {
  email: { word: 'email', noun: 'email address', form: /.@./ },
  phone: { word: 'phone', noun: 'phone number', form: /\d.*\d.*\d/ },
} as const satisfies Readonly<Record<string, AddressKind>>

export type Address = keyof typeof ADDRESS_KINDS
export const ADDRESSES = Object.keys(ADDRESS_KINDS) as readonly Address[]

export function mapAddresses<T>(make: (address: Address) => T): Readonly<Record<Address, T>> {
  return Object.fromEntries(ADDRESSES.map((address) => [address, make(address)])) as Record<Address, T>
}

/** The variable with the place of an address in policy administration's responses. */
export function addressVariable<A extends Address>(address: A) {
  return `POLICY_ADMIN_${address.toUpperCase() as Uppercase<A>}` as const
}

interface AnyChannel {
  /** In words: "text message". */
  readonly name: string
  readonly hasSubject: boolean
  /** True if the length of a message is counted in segments of an SMS. */
  readonly isSegmented: boolean
}

/** A channel that needs an address, and so a sender. */
interface AddressedKind extends AnyChannel {
  /** Channels may share one. */
  readonly address: Address
}

/** A channel without a sender: the log row is the message. */
interface UnaddressedKind extends AnyChannel {
  readonly address: null
  /** In words, of a message: "stored for the app". */
  readonly stored: string
}

/** Ways to reach a member (the specification's NotificationChannel). */
export const CHANNEL_KINDS = {
  EMAIL: { name: 'email', address: 'email', hasSubject: true, isSegmented: false },
  SMS: { name: 'text message', address: 'phone', hasSubject: false, isSegmented: true },
  IN_APP: {
    name: 'app message',
    address: null,
    stored: 'stored for the app',
    hasSubject: true,
    isSegmented: false,
  },
} as const satisfies Readonly<Record<string, AddressedKind | UnaddressedKind>>

export type Channel = keyof typeof CHANNEL_KINDS
export const CHANNELS = Object.keys(CHANNEL_KINDS) as readonly Channel[]

/** For the API document. */
export const KNOWN_CHANNELS = `One of ${CHANNELS.join(', ')}, or one that another version of the service stored`

/** False for a channel that only another version of the service knows. */
export function isChannel(text: unknown): text is Channel {
  return typeof text === 'string' && Object.hasOwn(CHANNEL_KINDS, text)
}

/** Null for a channel that only another version knows. */
export function channelKind(channel: string): AddressedKind | UnaddressedKind | null {
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

/** Used for a party without preferences (specification, dispatch rule 2). */
export const DEFAULT_CHANNEL: Channel = 'EMAIL'
