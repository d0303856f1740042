import { counted } from '../text/count.ts'
import { ADDRESS_KINDS, ADDRESSES, type Address, addressVariable } from './party/channel.ts'
import type { FoundContact } from './party/contact.ts'

/** A mapped place that no answer has, one whose values are no addresses, and one that has the same address for many. */
type AddressFaultCode = `no-${Address}-place` | `no-${Address}` | `one-${Address}`
export type DataFaultCode =
  | 'no-party'
  | 'no-text'
  | 'other-case'
  | 'no-reference'
  | 'not-found'
  | AddressFaultCode

/**
 * Faults that no single message shows, such as a wrong place in the envelope map or a wrong path of policy administration, with
 * their remedies. The code is the metric's label.
 */
export const DATA_FAULTS: Readonly<Record<DataFaultCode, string>> = {
  'no-party':
    'correct "partyLocator" in rules/envelope.json before more events are skipped, then `retry --read-again` the skipped entries',
  'no-text': 'correct "eventType" in rules/envelope.json, or write templates for these event types',
  'other-case':
    'have the producer write these event types as the texts and rules do, or name them there, too: `doctor` and `log` list them',
  'no-reference':
    'correct "locator" in rules/envelope.json; right if these events are about the member alone. Entries that were sent stay so; `retry --read-again` the others',
  'not-found':
    '"partyLocator" in rules/envelope.json may lead to something else, such as a policy number: correct it, then `retry --read-again` the skipped entries. If it is right, check POLICY_ADMIN_URL, with its path, and each gateway on the way, which answers 404 to a path that does not exist; then `retry`',
  ...(Object.fromEntries(
    ADDRESSES.flatMap((address) => [
      [`no-${address}-place`, `${remedyFor(address)}. ${noneOnFile(address)}`],
      [`no-${address}`, remedyFor(address)],
      [
        `one-${address}`,
        `hold the messages (\`hold\`) until it is clear whose ${address} that is, and correct ${addressVariable(address)} or the data; right if these members share it, as those of a group policy may`,
      ],
    ]),
  ) as Record<AddressFaultCode, string>),
}

/** Fewer messages, or parties, may have a fault in common by chance. */
export const FAULTY_COUNT_MIN = 5
/** Some members lack an address: fewer say nothing about its place. */
export const ADDRESS_COUNT_MIN = 20
/**
 * Where one party in twenty is unknown, each of these is exceeded by chance in less than one of a million windows. With a fifth of fifty
 * it was one in 40,000: a false page every few weeks, since each minute is judged.
 */
const HALF: ShareLimit = { countMin: 15, shareMax: 0.5 }
const SHARE_LIMITS: readonly ShareLimit[] = [
  HALF,
  { countMin: 50, shareMax: 0.25 },
  { countMin: 200, shareMax: 0.2 },
]

interface ShareLimit {
  readonly countMin: number
  readonly shareMax: number
}

/** Faults of some, not all: a few that are right do not end them. */
export const SHARES: readonly DataFaultCode[] = [
  'not-found',
  'other-case',
  ...ADDRESSES.flatMap((address) => [`no-${address}`, `one-${address}`] as const),
]

export interface DataFault {
  readonly code: DataFaultCode
  /** For people; names no party. */
  readonly detail: string
  /** True unless so few show it that it may be chance. */
  readonly isSure: boolean
}

/** Counts of the events of one topic. */
export interface EventCounts {
  readonly eventCount: number
  /** With no party locator, or an invalid one. */
  readonly withoutParty: number
  /** Events of types that have no template of their own, but for the next ones. */
  readonly withoutText: number
  /** Events of types that a text or a rule names in another letter case. */
  readonly inOtherCase: number
  /** That name nothing but their party. */
  readonly withoutReference: number
}

/** Some events lack a party, a text or a reference on purpose: a fault is what all of them lack. */
export function judgeEvents(
  topic: string,
  { eventCount, withoutParty, withoutText, inOtherCase, withoutReference }: EventCounts,
): DataFault[] {
  if (eventCount === 0) return []
  const all = `of ${counted(eventCount, 'event')} of ${topic}`
  const isSure = eventCount >= FAULTY_COUNT_MIN
  const faults: DataFault[] = []
  if (withoutParty === eventCount)
    faults.push({ code: 'no-party', detail: `none ${all} names a party`, isSure })
  if (withoutText === eventCount)
    faults.push({
      code: 'no-text',
      detail: `none ${all} has an event type with a text: members get the generic one`,
      isSure,
    })
  if (inOtherCase > 0)
    faults.push({
      code: 'other-case',
      detail: `${inOtherCase} ${all} have an event type that a text or a rule names in another letter case: no rule for it fits`,
      isSure: inOtherCase >= FAULTY_COUNT_MIN,
    })
  if (withoutReference === eventCount && withoutParty < eventCount)
    faults.push({ code: 'no-reference', detail: `none ${all} names what it is about`, isSure })
  return faults
}

/** Judges the look-ups of a topic that were answered; others say nothing about the path. */
export function judgeParties(topic: string, found: number, notFound: number): DataFault[] {
  const isSure = judgeShare(notFound, found)
  if (isSure === null) return []
  const detail = `policy administration does not know the party of ${notFound} of ${counted(found + notFound, 'event')} of ${topic}`
  return [{ code: 'not-found', detail, isSure }]
}

/** Whether a fault that so many have is sure; null if it is none. */
function judgeShare(
  faultyCount: number,
  rightCount: number,
  limits: readonly ShareLimit[] = SHARE_LIMITS,
): boolean | null {
  const count = faultyCount + rightCount
  if (faultyCount > 0 && rightCount === 0) return count >= FAULTY_COUNT_MIN
  return limits.some(({ countMin, shareMax }) => count >= countMin && faultyCount / count > shareMax)
    ? true
    : null
}

/** Values of policy administration's answers about known parties at the place of one address. `repeated`: see `createAddressFinder`. */
export const ADDRESS_FINDINGS = ['address', 'repeated', 'no address', 'blank', 'no place'] as const
export type AddressFinding = (typeof ADDRESS_FINDINGS)[number]
type AddressCounts = Readonly<Record<AddressFinding, number>>

/** @param countOf returns how many answers have a finding */
export function countAddresses(countOf: (finding: AddressFinding) => number): AddressCounts {
  return {
    address: countOf('address'),
    repeated: countOf('repeated'),
    'no address': countOf('no address'),
    blank: countOf('blank'),
    'no place': countOf('no place'),
  }
}

export function judgeAddresses(address: Address, counts: AddressCounts): DataFault[] {
  const answerCount = ADDRESS_FINDINGS.reduce((sum, finding) => sum + counts[finding], 0)
  if (answerCount < ADDRESS_COUNT_MIN) return []
  const variable = addressVariable(address)
  if (counts['no place'] === answerCount)
    return [
      {
        code: `no-${address}-place`,
        detail: `none of ${counted(answerCount, 'answer')} of policy administration has the place that ${variable} names`,
        isSure: true,
      },
    ]
  const { noun } = ADDRESS_KINDS[address]
  const wrong = counts['no address']
  const addressCount = counts.address + counts.repeated
  const faults: DataFault[] = []
  const isSure = judgeShare(wrong, addressCount)
  if (isSure) {
    const [some, looks] = addressCount > 0 ? [`${wrong} of`, 'look like no'] : ['none of', 'looks like a']
    faults.push({
      code: `no-${address}`,
      detail: `${some} ${counted(wrong + addressCount, 'value')} at the place that ${variable} names ${looks} valid ${noun}`,
      isSure,
    })
  }
  if (judgeShare(counts.repeated, counts.address, [HALF]))
    faults.push({
      code: `one-${address}`,
      detail: `${counts.repeated} of ${counted(addressCount, 'party', 'parties')} have the same ${noun} as the party before`,
      isSure: true,
    })
  return faults
}

/**
 * Returns a function that says what an answer has at the place of an address; `repeated` if the party before had the same. Where one
 * address stands for many, most are repeated. Keeps one address of each kind, and shows none.
 */
export function createAddressFinder() {
  const before = new Map<Address, { readonly party: string; readonly value: string | null }>()
  return (address: Address, party: string, contact: FoundContact): AddressFinding => {
    const finding = findAddress(address, contact)
    if (finding !== 'address') return finding
    const value = contact[address]
    const last = before.get(address)
    before.set(address, { party, value })
    return last !== undefined && last.party !== party && last.value === value ? 'repeated' : finding
  }
}

function findAddress(address: Address, contact: FoundContact): AddressFinding {
  const value = contact[address]
  if (value === null) return contact.without?.includes(address) ? 'no place' : 'blank'
  return ADDRESS_KINDS[address].form.test(value) ? 'address' : 'no address'
}

function remedyFor(address: Address): string {
  return `correct ${addressVariable(address)}: it must lead to where the answers have the ${address}; then \`retry\` the entries that were skipped; those that were sent to no address stay so`
}

function noneOnFile(address: Address): string {
  return `If policy administration has no ${ADDRESS_KINDS[address].noun} of anybody, set ${addressVariable(address)}=none`
}
