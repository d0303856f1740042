import { counted } from '../text/count.ts'
import { ADDRESS_KINDS, ADDRESSES, type Address, addressVariable } from './party/channel.ts'
import type { FoundContact } from './party/contact.ts'

/** A mapped place that no answer has, and a place whose values are no addresses. */
type AddressFaultCode = `no-${Address}-place` | `no-${Address}`
export type DataFaultCode = 'no-party' | 'no-text' | 'no-reference' | 'not-found' | AddressFaultCode

/**
 * Faults that no single message shows, such as a wrong place in the envelope map or a wrong path of policy administration, with
 * their remedies. The code is the metric's label.
 */
export const DATA_FAULTS: Readonly<Record<DataFaultCode, string>> = {
  'no-party':
    'correct "partyLocator" in rules/envelope.json before more events are skipped, then `retry --read-again` the skipped entries',
  'no-text': 'correct "eventType" in rules/envelope.json, or write templates for these event types',
  'no-reference':
    'correct "locator" in rules/envelope.json, then `retry --read-again`; right if these events are about the member alone',
  'not-found':
    '"partyLocator" in rules/envelope.json may lead to something else, such as a policy number: correct it, then `retry --read-again` the skipped entries. If it is right, check POLICY_ADMIN_URL, with its path, and each gateway on the way, which answers 404 to a path that does not exist; then `retry`',
  ...(Object.fromEntries(
    ADDRESSES.flatMap((address) =>
      [`no-${address}-place`, `no-${address}`].map((code) => [code, remedyFor(address)]),
    ),
  ) as Record<AddressFaultCode, string>),
}

/** What fewer messages have in common may well be chance. */
export const FAULTY_COUNT_MIN = 5
/** Some members lack an address: fewer say nothing about its place. */
const ADDRESS_COUNT_MIN = 20
/** Producers send a few unknown parties: fewer look-ups say nothing about the map. */
const NOT_FOUND_LIMIT: ShareLimit = { countMin: 50, shareMax: 0.2 }

export interface DataFault {
  readonly code: DataFaultCode
  /** For people; names no party. */
  readonly detail: string
}

/** Counts of the events of one topic. */
export interface EventCounts {
  readonly eventCount: number
  /** With no party locator, or an invalid one. */
  readonly withoutParty: number
  /** Of event types that have no template of their own. */
  readonly withoutText: number
  /** That name nothing but their party. */
  readonly withoutReference: number
}

/** Some events lack a party, a text or a reference on purpose: a fault is what all of them lack. */
export function judgeEvents(
  topic: string,
  { eventCount, withoutParty, withoutText, withoutReference }: EventCounts,
): DataFault[] {
  if (eventCount === 0) return []
  const all = `of ${counted(eventCount, 'event')} of ${topic}`
  const faults: DataFault[] = []
  if (withoutParty === eventCount) faults.push({ code: 'no-party', detail: `none ${all} names a party` })
  if (withoutText === eventCount)
    faults.push({
      code: 'no-text',
      detail: `none ${all} has an event type with a text: members get the generic one`,
    })
  if (withoutReference === eventCount && withoutParty < eventCount)
    faults.push({ code: 'no-reference', detail: `none ${all} names what it is about` })
  return faults
}

/** From which number and share of unknown parties on the map or the path counts as wrong. */
export interface ShareLimit {
  readonly countMin: number
  readonly shareMax: number
}

/** Judges the look-ups of a topic that were answered; others say nothing about the path. */
export function judgeParties(
  topic: string,
  found: number,
  notFound: number,
  { countMin, shareMax }: ShareLimit = NOT_FOUND_LIMIT,
): DataFault[] {
  const count = found + notFound
  const isFault = notFound > 0 && (found === 0 || (count >= countMin && notFound / count > shareMax))
  if (!isFault) return []
  const detail = `policy administration does not know the party of ${notFound} of ${counted(count, 'event')} of ${topic}`
  return [{ code: 'not-found', detail }]
}

/** What policy administration's answers about known parties have at the place of one address. */
export const ADDRESS_FINDINGS = ['address', 'no address', 'blank', 'no place'] as const
export type AddressFinding = (typeof ADDRESS_FINDINGS)[number]
type AddressCounts = Readonly<Record<AddressFinding, number>>

/** @param countOf returns how many answers have a finding */
export function countAddresses(countOf: (finding: AddressFinding) => number): AddressCounts {
  return {
    address: countOf('address'),
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
      },
    ]
  const filled = counts.address + counts['no address']
  return filled > 0 && counts.address === 0
    ? [
        {
          code: `no-${address}`,
          detail: `none of ${counted(filled, 'value')} at the place that ${variable} names looks like a valid ${ADDRESS_KINDS[address].noun}`,
        },
      ]
    : []
}

export function findAddress(address: Address, contact: FoundContact): AddressFinding {
  const value = contact[address]
  if (value === null) return contact.without?.includes(address) ? 'no place' : 'blank'
  return ADDRESS_KINDS[address].form.test(value) ? 'address' : 'no address'
}

function remedyFor(address: Address): string {
  return `correct ${addressVariable(address)}: it must lead to where the answers have the ${address}; then \`retry\` the entries that were skipped, or sent to no address`
}
