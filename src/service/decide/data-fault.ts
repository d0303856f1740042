import { counted } from '../text/count.ts'
import {
  ADDRESS_KINDS,
  ADDRESSES,
  type Address,
  addressVariable,
  channelKind,
  mapAddresses,
} from './party/channel.ts'
import type { FoundContact } from './party/contact.ts'

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
    'hold the messages (`hold`) until it is clear whether "partyLocator" in rules/envelope.json leads to the member of each event, and correct it; no fault if these events are all about one customer',
  'one-reference':
    'correct "locator" in rules/envelope.json: it must lead to the claim, policy or invoice; no fault if these events are all about one. Sent entries stay as they are; `retry --read-again` the others',
  'event-id':
    'correct "locator" in rules/envelope.json: it must lead to the claim, policy or invoice; or "eventId", if it leads there: only the first event of each id is logged. No fault if members know the event ids. Sent entries stay as they are; `retry --read-again` the others',
  'repeated-id':
    'correct "eventId" in rules/envelope.json, or have the producer give each event its own id: of several events with one id only the first is logged, and only its member is told; no fault if checkpoints were moved back, or a topic was recreated',
  'not-found':
    '"partyLocator" in rules/envelope.json may lead to something else, such as a policy number: correct it, then `retry --read-again` the skipped entries. If it is right, check POLICY_ADMIN_URL, with its path, and each gateway on the way, which answers 404 to a path that does not exist; then `retry`',
  ...(Object.fromEntries(
    ADDRESSES.flatMap((address) => [
      [`no-${address}-place`, `${remedyFor(address)}. ${noneOnFile(address)}`],
      [
        `no-${address}-on-file`,
        `correct ${addressVariable(address)}: it must lead to the ${address} in the answers; or ask the owners of policy administration why it has none: it may be a test system, or hide them from this credential. Then \`retry\` the skipped entries. ${noneOnFile(address)}`,
      ],
      [`no-${address}`, remedyFor(address)],
      [
        `one-${address}`,
        `hold the messages (\`hold\`) until it is clear whose ${address} that is, and correct ${addressVariable(address)} or the data; no fault if these members share it, as those of a group policy may, or if their agent gets their messages`,
      ],
    ]),
  ) as Record<AddressFaultCode, string>),
}

/** Fewer messages or parties may share a fault by chance. */
export const FAULTY_COUNT_MIN = 5
/** Some members lack an address, so fewer answers prove nothing about its place. */
export const ADDRESS_COUNT_MIN = 15
/** Answers may omit missing values. If one member in twenty has a phone number, fewer answers may all lack it by chance. */
const PLACE_COUNT_MIN = 200
/**
 * Where one party in twenty is unknown, each of these is exceeded by chance in less than one of a million windows. With a fifth of fifty
 * it was one in 40,000: a false page every few weeks, since each minute is judged.
 */
const HALF: ShareLimit = { countMin: 15, shareMax: 0.5 }
/** For values that a few parties share on a normal day. */
const NEARLY_ALL: ShareLimit = { countMin: 15, shareMax: 0.8 }
/** Where half of the members have no address, each of these is exceeded by chance in less than one of ten thousand windows. */
const WITHOUT_LIMITS: readonly ShareLimit[] = [
  { countMin: ADDRESS_COUNT_MIN, shareMax: 0.95 },
  { countMin: 50, shareMax: 0.8 },
]
const SHARE_LIMITS: readonly ShareLimit[] = [
  HALF,
  { countMin: 50, shareMax: 0.25 },
  { countMin: 200, shareMax: 0.2 },
]

interface ShareLimit {
  readonly countMin: number
  readonly shareMax: number
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

/** Counts of the events of one topic. */
export interface EventCounts {
  readonly eventCount: number
  /** Events without a valid party locator. */
  readonly withoutParty: number
  /** Events without their own template, except those counted in `inOtherCase`. */
  readonly withoutText: number
  /** Events of types that a text or a rule names in another letter case. */
  readonly inOtherCase: number
  /** Events by the finding for a field; only a part of the events may be examined. */
  readonly countOf: (field: JudgedField, finding: FieldFinding) => number
}

/**
 * Fields whose mapping is judged by their values. `burst`: most of the topic's newest events have the same value; `repeated`: they
 * have had it for longer than a burst of one customer's events lasts; `other field`: the value equals another field's. A reason
 * counts only if the event's text inserts it.
 */
export const JUDGED_FIELDS = ['partyLocator', 'locator', 'reason'] as const
export type JudgedField = (typeof JUDGED_FIELDS)[number]
const FIELD_FINDINGS = ['named', 'burst', 'repeated', 'event id', 'other field', 'missing'] as const
export type FieldFinding = (typeof FIELD_FINDINGS)[number]
export interface PlaceFinding<Place, Finding> {
  readonly place: Place
  readonly finding: Finding
}

export interface JudgedEvent {
  readonly eventId: string
  readonly eventType: string
  readonly partyLocator: string | null
  /** The party locator if the event names none. */
  readonly reference: string
  readonly reason: string | null
  /** Publication time; undefined if unknown. */
  readonly timestampMs: bigint | undefined
}

/**
 * Returns a function that judges the field values of one topic's events. It keeps the values of the newest events and exposes none.
 *
 * @param givesReason whether the text of an event type inserts the reason
 */
export function createFieldFinder(givesReason: (eventType: string) => boolean) {
  const parties = createNewest(NEWEST_EVENT_COUNT)
  const references = createNewest(NEWEST_EVENT_COUNT)
  const findParty = createRepetitionFinder(parties)
  const findRepeatedReference = createRepetitionFinder(references)
  const namesReference = ({ reference, partyLocator }: JudgedEvent) =>
    reference !== '' && reference !== partyLocator
  function findReference(event: JudgedEvent): FieldFinding {
    if (!namesReference(event)) return 'missing'
    if (event.reference === event.eventId) return 'event id'
    return findRepeatedReference(event.reference, event.timestampMs)
  }
  return (events: readonly JudgedEvent[]): PlaceFinding<JudgedField, FieldFinding>[] => {
    for (const event of events.slice(-NEWEST_EVENT_COUNT)) {
      if (event.partyLocator !== null) parties.add(event.eventId, event.partyLocator)
      if (namesReference(event)) references.add(event.eventId, event.reference)
    }
    return events.flatMap((event): PlaceFinding<JudgedField, FieldFinding>[] => {
      const { partyLocator: party, eventType, timestampMs } = event
      return [
        { place: 'partyLocator', finding: party === null ? 'missing' : findParty(party, timestampMs) },
        { place: 'locator', finding: findReference(event) },
        ...(givesReason(eventType) ? [{ place: 'reason' as const, finding: judgeReason(event) }] : []),
      ]
    })
  }
}

/** A reason is a phrase, never an identifier. */
function judgeReason({ eventId, eventType, partyLocator, reference, reason }: JudgedEvent): FieldFinding {
  if (reason === null) return 'missing'
  return [eventId, eventType, partyLocator, reference].includes(reason) ? 'other field' : 'named'
}

/**
 * Returns a function that detects a value shared by most of the newest events. One customer's events may come in a burst, such as a
 * fleet's renewals.
 */
function createRepetitionFinder(newest: Newest) {
  const isMost = (value: string) => {
    const count = newest.countOf(value)
    return count >= FAULTY_COUNT_MIN && count * 2 > newest.count()
  }
  let most: { readonly value: string; readonly fromMs: bigint | undefined } | null = null
  return (value: string, timestampMs: bigint | undefined): 'named' | 'burst' | 'repeated' => {
    if (most !== null && !isMost(most.value)) most = null
    if (!isMost(value)) return 'named'
    if (most?.value !== value) most = { value, fromMs: timestampMs }
    if (most.fromMs === undefined || timestampMs === undefined) return 'burst'
    return Math.abs(Number(timestampMs - most.fromMs)) > BURST_MS_MAX ? 'repeated' : 'burst'
  }
}

/** Per topic. */
const NEWEST_EVENT_COUNT = 50
/** Short enough that the second minute reveals a lasting fault. */
const BURST_MS_MAX = 45_000
/** References have no length limit; longer ones are not kept. */
const VALUE_LENGTH_MAX = 255
/** Number of parties whose addresses are kept. */
const NEWEST_PARTY_COUNT = 500

type Newest = ReturnType<typeof createNewest>

/** The newest value of each key, and how often each value occurs. */
function createNewest(countMax: number) {
  const values = new Map<string, string>()
  const counts = new Map<string, number>()
  function remove(key: string): void {
    const value = values.get(key)
    if (value === undefined) return
    values.delete(key)
    const count = counts.get(value) ?? 0
    if (count > 1) counts.set(value, count - 1)
    else counts.delete(value)
  }
  return {
    add: (key: string, value: string): void => {
      remove(key)
      if (value.length > VALUE_LENGTH_MAX) return
      values.set(key, value)
      counts.set(value, (counts.get(value) ?? 0) + 1)
      if (values.size > countMax) remove(values.keys().next().value ?? key)
    },
    get: (key: string): string | undefined => values.get(key),
    countOf: (value: string): number => counts.get(value) ?? 0,
    count: (): number => values.size,
  }
}

/** Some events lack a party, a text or a reference on purpose. Only if all lack it is it a fault. */
export function judgeEvents(
  topic: string,
  { eventCount, withoutParty, withoutText, inOtherCase, countOf }: EventCounts,
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
  const judgedCount = FIELD_FINDINGS.reduce((sum, finding) => sum + countOf('locator', finding), 0)
  const judged = `of ${counted(judgedCount, 'event')} of ${topic}`
  if (judgedCount > 0 && countOf('locator', 'missing') === judgedCount && withoutParty < eventCount)
    faults.push({ code: 'no-reference', detail: `none ${judged} names what it is about`, isSure })
  const otherCount = countOf('reason', 'other field')
  const withoutReason = countOf('reason', 'missing') + otherCount
  if (countOf('reason', 'named') === 0 && withoutReason > 0) {
    const names = otherCount === 0 ? '' : `: ${otherCount} have their id, type, party or reference there`
    faults.push({
      code: 'no-reason',
      detail: `none of ${counted(withoutReason, 'event')} of ${topic} whose text gives a reason has one${names}`,
      isSure: withoutReason >= NEARLY_ALL.countMin,
    })
  }
  const judgeRepeated = (code: DataFaultCode, field: JudgedField, words: string) => {
    const lastingCount = countOf(field, 'repeated')
    const count = lastingCount + countOf(field, 'burst')
    if (!exceeds(NEARLY_ALL, count, judgedCount)) return
    const isSure = lastingCount >= FAULTY_COUNT_MIN
    const within = isSure ? '' : ', which came at once: all may be about one customer'
    faults.push({ code, detail: `${count} ${judged} ${words}${within}`, isSure })
  }
  judgeRepeated('one-party', 'partyLocator', 'name the same party')
  judgeRepeated('one-reference', 'locator', 'name the same claim, policy or invoice')
  const ownIdCount = countOf('locator', 'event id')
  if (exceeds(NEARLY_ALL, ownIdCount, judgedCount))
    faults.push({
      code: 'event-id',
      detail: `${ownIdCount} ${judged} have their own event id as their reference`,
      isSure: true,
    })
  return faults
}

/** Judges a topic's answered look-ups; unanswered ones prove nothing about the path. */
export function judgeParties(topic: string, found: number, notFound: number): DataFault[] {
  const isSure = judgeShare(notFound, found)
  if (isSure === null) return []
  const detail = `policy administration does not know the party of ${notFound} of ${counted(found + notFound, 'event')} of ${topic}`
  return [{ code: 'not-found', detail, isSure }]
}

/** True if this share is surely a fault, false if it may be chance; null if it is none. */
function judgeShare(
  faultyCount: number,
  rightCount: number,
  limits: readonly ShareLimit[] = SHARE_LIMITS,
): boolean | null {
  const count = faultyCount + rightCount
  if (faultyCount > 0 && rightCount === 0) return count >= FAULTY_COUNT_MIN
  return exceedsAny(limits, faultyCount, count) ? true : null
}

function exceedsAny(limits: readonly ShareLimit[], faultyCount: number, count: number): boolean {
  return limits.some((limit) => exceeds(limit, faultyCount, count))
}

function exceeds({ countMin, shareMax }: ShareLimit, faultyCount: number, count: number): boolean {
  return count >= countMin && faultyCount / count > shareMax
}

/** Values at the place of an address, in answers about known parties. `repeated`: see `createAddressFinder`. */
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

function countWithout(counts: AddressCounts): number {
  return counts.blank + counts['no place']
}

function sum(counts: AddressCounts): number {
  return ADDRESS_FINDINGS.reduce((total, finding) => total + counts[finding], 0)
}

/** Answers, and those about members who are told by this address. `ever`: since the start. */
export type JudgedAnswers = Readonly<Record<'newest' | 'needed' | 'ever' | 'everNeeded', AddressCounts>>

export function judgeAddresses(
  address: Address,
  { newest, needed, ever, everNeeded }: JudgedAnswers,
): DataFault[] {
  if (sum(newest) < ADDRESS_COUNT_MIN) return []
  const variable = addressVariable(address)
  const { noun } = ADDRESS_KINDS[address]
  const faults: DataFault[] = []
  const areNewestWithout = exceedsAny(WITHOUT_LIMITS, countWithout(needed), sum(needed))
  // Few of the newest members may be told by this address.
  const areAllWithout = sum(everNeeded) >= ADDRESS_COUNT_MIN && countWithout(everNeeded) === sum(everNeeded)
  const areWithout = areNewestWithout || areAllWithout
  const faulty = areNewestWithout ? needed : everNeeded
  const everCount = sum(ever)
  if (ever['no place'] === everCount)
    faults.push({
      code: `no-${address}-place`,
      detail: `none of ${counted(everCount, 'answer')} of policy administration has the place that ${variable} names`,
      isSure: areWithout || everCount >= PLACE_COUNT_MIN,
    })
  else if (areWithout)
    faults.push({
      code: `no-${address}-on-file`,
      detail: `${countWithout(faulty)} of ${counted(sum(faulty), 'member')} who are to be told by ${address} have no ${noun} on file`,
      isSure: true,
    })
  const wrong = newest['no address']
  const addressCount = newest.address + newest.repeated
  const isSure = judgeShare(wrong, addressCount)
  if (isSure) {
    const [some, looks] = addressCount > 0 ? [`${wrong} of`, 'look like no'] : ['none of', 'looks like a']
    faults.push({
      code: `no-${address}`,
      detail: `${some} ${counted(wrong + addressCount, 'value')} at the place that ${variable} names ${looks} valid ${noun}`,
      isSure,
    })
  }
  if (judgeShare(newest.repeated, newest.address, [HALF]))
    faults.push({
      code: `one-${address}`,
      detail: `${newest.repeated} of ${counted(addressCount, 'party', 'parties')} share their ${noun} with at least ${FAULTY_COUNT_MIN - 1} others`,
      isSure: true,
    })
  return faults
}

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

function remedyFor(address: Address): string {
  return `correct ${addressVariable(address)}: it must lead to the ${address} in the answers; then \`retry\` the skipped entries. Messages sent to an invalid address stay sent`
}

function noneOnFile(address: Address): string {
  return `If policy administration has no ${ADDRESS_KINDS[address].noun} at all, set ${addressVariable(address)}=none`
}
