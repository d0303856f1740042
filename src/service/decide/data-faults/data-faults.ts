import { ADDRESS_KINDS, ADDRESSES, type Address, addressVariable } from '../party/channel.ts'

/**
 * Faults of an address: no answer has its place; it is empty for members who are told by it; its values are no addresses; many
 * members share few addresses.
 */
type AddressFaultCode = `no-${Address}-place` | `no-${Address}-on-file` | `no-${Address}` | `one-${Address}`

export type DataFaultCode =
  | 'no-party'
  | 'no-text'
  | 'other-case'
  | 'no-reference'
  | 'no-reason'
  | 'one-party'
  | 'one-reference'
  | 'event-id'
  | 'repeated-id'
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
    'have the producer write these event types like the texts and rules, or add them there: `doctor` and `log` list them',
  'no-reference':
    'correct "locator" in rules/envelope.json; no fault if these events are about the member alone. Sent entries stay as they are; `retry --read-again` the others',
  'no-reason':
    'correct "reason" in rules/envelope.json; no fault if producers give no reason, or that one. Sent entries stay as they are',
  'one-party':
    'hold the messages (`hold`) until it is clear whether "partyLocator" in rules/envelope.json leads to the member of each event, and correct it. No fault if these events are all about one customer',
  'one-reference':
    'correct "locator" in rules/envelope.json: it must lead to the claim, policy or invoice. No fault if these events are all about one. Sent entries stay as they are; `retry --read-again` the others',
  'event-id':
    'correct "locator" in rules/envelope.json: it must lead to the claim, policy or invoice. If "eventId" leads there, correct that: only the first event of each id is logged. No fault if members know the event ids. Sent entries stay as they are; `retry --read-again` the others',
  'repeated-id':
    'correct "eventId" in rules/envelope.json, or have the producer give each event its own id. Of several events with one id only the first is logged, and only its member is told. No fault if checkpoints were moved back, or a topic was recreated',
  'not-found':
    'correct "partyLocator" in rules/envelope.json if it leads to something else, such as a policy number; then `retry --read-again` the skipped entries. If it is right, check POLICY_ADMIN_URL with its path, and each gateway on the way: one answers 404 to a path that it does not know. Then `retry`',
  ...(Object.fromEntries(
    ADDRESSES.flatMap((address) => [
      [`no-${address}-place`, `${remedyFor(address)}. ${noneOnFile(address)}`],
      [
        `no-${address}-on-file`,
        `correct ${addressVariable(address)}: it must lead to the ${address} in the answers. Or ask the owners of policy administration why it has none: it may be a test system, or hide them from this credential. Then \`retry\` the skipped entries. ${noneOnFile(address)}`,
      ],
      [`no-${address}`, remedyFor(address)],
      [
        `one-${address}`,
        `hold the messages (\`hold\`) until it is clear whose ${address} that is, and correct ${addressVariable(address)} or the data. No fault if these members share it, as those of a group policy may, or if their agent gets their messages`,
      ],
    ]),
  ) as Record<AddressFaultCode, string>),
}

/** Faults of a share of the events: a few sound events do not end them. */
export const SHARES: readonly DataFaultCode[] = [
  'not-found',
  'other-case',
  'one-party',
  'one-reference',
  'event-id',
  ...ADDRESSES.flatMap((address) => [`no-${address}-on-file`, `no-${address}`, `one-${address}`] as const),
]

export interface DataFault {
  readonly code: DataFaultCode
  /** For people; names no party. */
  readonly detail: string
  /** False if so few show it that it may be chance. */
  readonly isSure: boolean
}

/** Fewer messages or parties may share a fault by chance. */
export const FAULTY_COUNT_MIN = 5

/** Some members lack an address, so fewer answers prove nothing about its place. */
export const ADDRESS_COUNT_MIN = 15

function remedyFor(address: Address): string {
  return `correct ${addressVariable(address)}: it must lead to the ${address} in the answers; then \`retry\` the skipped entries. Messages sent to an invalid address stay sent`
}

function noneOnFile(address: Address): string {
  return `If policy administration has no ${ADDRESS_KINDS[address].noun} at all, set ${addressVariable(address)}=none`
}
