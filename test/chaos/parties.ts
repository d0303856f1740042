/** The answer about a party while policy administration works. */
export type Answer = 'found' | 'unknown' | 'error' | 'malformed'
export type Channel = 'EMAIL' | 'SMS' | 'IN_APP'

/** Parties that are alike. Their locators are the prefix and a number; the prefix is one that the stand-in knows. */
export interface PartyKind {
  readonly prefix: string
  readonly partyCount: number
  /** The approximate percentage of events about one of them. */
  readonly share: number
  readonly answer: Answer
  readonly email: boolean
  readonly phone: boolean
  /** Undefined: they have none. */
  readonly preferences?: { readonly preferredChannel: Channel; readonly optedOutEvents: readonly string[] }
}

const found = { answer: 'found', email: true, phone: true } as const
const prefers = (preferredChannel: Channel, optedOutEvents: readonly string[] = []) => ({
  preferences: { preferredChannel, optedOutEvents },
})

/** They opt out and in again all the time: see `Register`. */
const FICKLE = 'party-fickle-'
/** They are erased, one a cycle: see `People`. */
const FORGOTTEN = 'party-forgotten-'

/**
 * Few of them always fail, so that they alone never look like an outage. No locator is a prefix's beginning of another
 * kind's.
 */
export const PARTY_KINDS: readonly [PartyKind, ...PartyKind[]] = [
  { prefix: 'party-plain-', partyCount: 120, share: 20, ...found },
  { prefix: FICKLE, partyCount: 8, share: 10, ...found },
  { prefix: FORGOTTEN, partyCount: 12, share: 4, ...found },
  { prefix: 'party-email-', partyCount: 10, share: 6, ...found, ...prefers('EMAIL') },
  { prefix: 'party-sms-', partyCount: 20, share: 14, ...found, ...prefers('SMS') },
  { prefix: 'party-app-', partyCount: 10, share: 8, ...found, ...prefers('IN_APP') },
  {
    prefix: 'party-quiet-',
    partyCount: 10,
    share: 8,
    ...found,
    ...prefers('SMS', ['claim.paid', 'invoice.paid', 'pet.adopted']),
  },
  { prefix: 'no-email-plain-', partyCount: 5, share: 4, ...found, email: false },
  { prefix: 'no-email-sms-', partyCount: 5, share: 4, ...found, email: false, ...prefers('SMS') },
  { prefix: 'no-phone-sms-', partyCount: 5, share: 4, ...found, phone: false, ...prefers('SMS') },
  {
    prefix: 'neither-app-',
    partyCount: 5,
    share: 4,
    ...found,
    email: false,
    phone: false,
    ...prefers('IN_APP'),
  },
  { prefix: 'slow-plain-', partyCount: 3, share: 3, ...found },
  { prefix: 'unknown-', partyCount: 10, share: 6, answer: 'unknown', email: false, phone: false },
  { prefix: 'error-', partyCount: 3, share: 1, answer: 'error', email: false, phone: false },
  { prefix: 'malformed-', partyCount: 2, share: 1, answer: 'malformed', email: false, phone: false },
]

/** The found parties that hang for this roll of the dice: one in eight of one kind. */
export function hangingBy(dice: number): string[] {
  const [{ prefix, partyCount }] = PARTY_KINDS
  const numbers = Array.from({ length: partyCount }, (_, i) => i)
  return numbers.filter((number) => number % 8 === dice % 8).map((number) => `${prefix}${number}`)
}

export function kindOf(partyLocator: string): PartyKind | undefined {
  return PARTY_KINDS.find(({ prefix }) => partyLocator.startsWith(prefix))
}

export function isFickle(partyLocator: string | null): boolean {
  return partyLocator?.startsWith(FICKLE) ?? false
}

export function fickleParties(): readonly [string, ...string[]] {
  return [`${FICKLE}0`, ...Array.from({ length: 7 }, (_, i) => `${FICKLE}${i + 1}`)]
}

export function forgottenParties(): readonly [string, ...string[]] {
  return [`${FORGOTTEN}0`, ...Array.from({ length: 11 }, (_, i) => `${FORGOTTEN}${i + 1}`)]
}

/** Whether a message may name one of them. */
export function mentionsForgotten(value: Uint8Array | null): boolean {
  return value !== null && Buffer.from(value).includes(FORGOTTEN)
}
