import t from 'tap'
import { DATA_FAULTS } from '../../../src/service/decide/data-faults/data-faults.ts'
import { createAddressFinder } from '../../../src/service/decide/data-faults/find-addresses.ts'
import {
  createFieldFinder,
  type FieldFinding,
  type JudgedEvent,
  type JudgedField,
} from '../../../src/service/decide/data-faults/find-fields.ts'
import { judgeAddresses } from '../../../src/service/decide/data-faults/judge-addresses.ts'
import { judgeEvents, judgeParties } from '../../../src/service/decide/data-faults/judge-events.ts'
import { createCaseJudge } from '../../../src/service/decide/event/event-type-pattern.ts'
import type { FoundContact } from '../../../src/service/decide/party/contact.ts'
import { ADDRESS_PLACES, aFound } from '../build.ts'

const countNone = () => 0

/** Events, those without a party, a text, a reference; parties found and not found; and the faults, with `?` those of too few. */
const EVENTS: readonly (readonly [number, number, number, number, number, number, ...string[]])[] = [
  [0, 0, 0, 0, 0, 0],
  [1, 0, 0, 0, 1, 0],
  [20, 19, 19, 19, 1, 0],
  [1, 1, 0, 1, 0, 0, 'no-party?'],
  [4, 4, 0, 4, 0, 0, 'no-party?'],
  [5, 5, 0, 5, 0, 0, 'no-party'],
  [1, 0, 0, 0, 0, 1, 'not-found?'],
  [5, 0, 0, 0, 0, 5, 'not-found'],
  [14, 0, 0, 0, 6, 8],
  [15, 0, 0, 0, 7, 8, 'not-found'],
  [20, 0, 20, 0, 20, 0, 'no-text'],
  [20, 20, 20, 20, 0, 0, 'no-party', 'no-text'],
  [20, 0, 0, 20, 20, 0, 'no-reference'],
  [9, 0, 0, 0, 0, 9, 'not-found'],
  [9, 0, 0, 0, 1, 8],
  [50, 0, 0, 0, 38, 12],
  [50, 0, 0, 0, 37, 13, 'not-found'],
  [199, 0, 0, 0, 158, 41],
  [200, 0, 0, 0, 160, 40],
  [200, 0, 0, 0, 159, 41, 'not-found'],
]
t.test('what all events of a topic lack is a fault, and a fifth of unknown parties', async (t) => {
  for (const [eventCount, withoutParty, withoutText, withoutReference, found, notFound, ...codes] of EVENTS) {
    const references = new Map([
      ['missing', withoutReference],
      ['named', eventCount - withoutReference],
    ])
    const countOf = (field: JudgedField, finding: FieldFinding) =>
      (field === 'locator' && references.get(finding)) || 0
    const counts = { eventCount, withoutParty, withoutText, inOtherCase: 0, countOf }
    t.strictSame(
      [...judgeEvents('claims', counts), ...judgeParties('claims', found, notFound)].map(
        ({ code, isSure }) => (isSure ? code : `${code}?`),
      ),
      codes,
    )
  }
})

t.test('a place that no answer has is a fault, whatever the other places say', async (t) => {
  const find = (place: string, contact: FoundContact) =>
    findAt(createAddressFinder(ADDRESS_PLACES), place, { a: contact })
  t.strictSame(find('email', { ...aFound({ email: null }), without: ['email'] }), ['no place'])
  t.strictSame(find('email', aFound({ email: null })), ['blank'])
  t.strictSame(find('email', aFound({ email: 'PTY-1' })), ['no address'])
  t.strictSame(find('phone', aFound({ phone: '+41 44 000' })), ['address'])
  t.strictSame(find('phone', aFound({ phone: 'a@b' })), ['no address'])
  const codes = (change: Partial<typeof NO_ANSWERS>) => addressCodes(change)
  t.strictSame(codes({ 'no place': 200 }), ['no-email-place'])
  t.strictSame(codes({ 'no place': 199 }), ['no-email-place?'], 'one in twenty has one')
  t.strictSame(codes({ 'no place': 14 }), [])
  t.strictSame(codes({ 'no place': 200, blank: 1 }), [])
  t.strictSame(
    addressCodes({ 'no place': 15 }, { 'no place': 15 }),
    ['no-email-place'],
    'they are to be told by it',
  )
  t.strictSame(codes({ 'no address': 5, blank: 15 }), ['no-email'])
  t.strictSame(codes({ 'no address': 4, blank: 16 }), [])
  t.strictSame(codes({ 'no address': 11, address: 9 }), ['no-email'], 'half of them')
  t.strictSame(codes({ 'no address': 10, address: 10 }), [])
  t.strictSame(codes({ 'no address': 41, address: 159 }), ['no-email'], 'a fifth of two hundred')
  t.strictSame(codes({ 'no address': 40, address: 160 }), [])
  t.strictSame(codes({ repeated: 19, address: 1 }), ['one-email'])
  t.strictSame(codes({ repeated: 10, address: 10 }), [])
  t.strictSame(codes({ repeated: 19, 'no address': 1 }), ['one-email'])
})

const NO_ANSWERS = { address: 0, repeated: 0, 'no address': 0, blank: 0, 'no place': 0 }
type Answers = typeof NO_ANSWERS
/** Of the newest answers, which are all, those about members who are to be told by email; and those since the start. */
function judgeEmails(newest: Partial<Answers>, needed: Partial<Answers> = {}, everNeeded = needed) {
  const all = (some: Partial<Answers>): Answers => ({ ...NO_ANSWERS, ...some })
  return judgeAddresses('email', {
    newest: all(newest),
    needed: all(needed),
    ever: all(newest),
    everNeeded: all(everNeeded),
  })
}
const addressCodes = (...counts: Parameters<typeof judgeEmails>) =>
  judgeEmails(...counts).map(({ code, isSure }) => (isSure ? code : `${code}?`))

t.test(
  'members who are to be told by an address, and of whom nearly all have none, are a fault',
  async (t) => {
    const ofAll = (counts: Partial<Answers>) => addressCodes(counts, counts)
    t.strictSame(ofAll({ blank: 15 }), ['no-email-on-file'])
    t.strictSame(ofAll({ blank: 14 }), [])
    t.strictSame(ofAll({ blank: 14, address: 1 }), [], 'half of the members have none')
    t.strictSame(ofAll({ blank: 41, address: 9 }), ['no-email-on-file'])
    t.strictSame(ofAll({ blank: 40, address: 10 }), [])
    t.strictSame(ofAll({ 'no place': 14, blank: 1 }), ['no-email-on-file'], 'answers leave it out')
    t.strictSame(addressCodes({ blank: 500 }), [], 'they are told by text message')
    t.strictSame(addressCodes({ blank: 500, address: 1 }, { blank: 14 }), [])
    t.strictSame(
      addressCodes({ blank: 50 }, { blank: 2 }, { blank: 15 }),
      ['no-email-on-file'],
      'few need it',
    )
    const all = { ...NO_ANSWERS, address: 20 }
    t.strictSame(
      judgeAddresses('email', { newest: all, needed: all, ever: all, everNeeded: all }),
      [],
      'as in doctor',
    )
    t.strictSame(
      addressCodes({ blank: 50 }, { blank: 2 }, { blank: 500, address: 1 }),
      [],
      'but for one since the start',
    )
    t.match(judgeEmails({ blank: 15 }, { blank: 15 }), [
      { detail: '15 of 15 members who are to be told by email have no email address on file' },
    ])
  },
)

function findAt(
  find: ReturnType<typeof createAddressFinder>,
  place: string,
  contacts: Readonly<Record<string, FoundContact>>,
  preferredChannel = 'EMAIL',
) {
  const members = Object.entries(contacts).map(([partyLocator, contact]) => {
    return { partyLocator, contact, preferredChannel }
  })
  return find(members).flatMap((one) => (one.place === place ? one.finding : []))
}

/** Parties from one number up to another, with the email address of the party that is returned. */
function somePeople(from: number, to: number, ownerOf: (party: number) => number | string) {
  const parties = Array.from({ length: to - from }, (_, i) => from + i)
  return Object.fromEntries(
    parties.map((party) => [
      `party-${party}`,
      aFound({ email: `${ownerOf(party)}@example.com`, phone: null }),
    ]),
  )
}

t.test('an address of five of the newest parties is repeated, that of a household is not', async (t) => {
  const find = createAddressFinder(ADDRESS_PLACES)
  const emails = (people: Record<string, FoundContact>) => findAt(find, 'email', people)
  t.strictSame(emails(somePeople(0, 40, (party) => Math.floor(party / 4))), Array(40).fill('address'))
  t.strictSame(emails(somePeople(0, 1, () => 0)), [], 'the same party again')
  const byAgent = emails(somePeople(100, 300, (party) => `agent-${party % 10}`))
  t.strictSame(byAgent, Array(200).fill('repeated'), 'one of ten agents')
  t.strictSame(emails(somePeople(300, 301, () => 'agent-0')), ['repeated'], 'one at a time, too')
  t.strictSame(emails(somePeople(301, 302, (party) => party)), ['address'])
  t.strictSame(
    findAt(find, 'phone', { other: aFound({ phone: '+41 44 000' }) }),
    ['address'],
    'of its own kind',
  )
  emails(somePeople(1_000, 1_500, (party) => party))
  t.strictSame(emails(somePeople(2_000, 2_001, () => 'agent-0')), ['address'], 'forgotten')
})

t.test('an answer about a member says once what it says', async (t) => {
  const find = createAddressFinder(ADDRESS_PLACES)
  const emails = (contact: FoundContact, channel?: string) => findAt(find, 'email', { a: contact }, channel)
  const none = aFound({ email: null })
  t.strictSame([emails(none), emails(none), emails(none)], [['blank'], [], []])
  t.strictSame(emails(none, 'SMS'), ['blank'], 'she prefers text messages now')
  t.strictSame([emails(aFound()), emails(aFound())], [['address'], []])
  t.strictSame(
    findAt(createAddressFinder({ ...ADDRESS_PLACES, email: [] }), 'email', { a: none }),
    [],
    'none on purpose',
  )
  const needs = (preferredChannel: string) =>
    createAddressFinder(ADDRESS_PLACES)([{ partyLocator: 'a', contact: none, preferredChannel }]).flatMap(
      ({ place, isNeeded }) => (isNeeded ? place : []),
    )
  t.strictSame(['EMAIL', 'SMS', 'IN_APP', 'PIGEON'].map(needs), [['email'], ['phone'], [], []])
})

/** So many events of some minutes, whose party, reference and reason the functions return. */
function codesOf(
  count: number,
  change: (i: number) => Partial<JudgedEvent>,
  // Of two batches, the first is that of a member.
  batchesOf = (events: readonly JudgedEvent[]) => [events.slice(0, 5), events.slice(5)],
): string[] {
  const events = Array.from({ length: count }, (_, i): JudgedEvent => {
    const [eventId, partyLocator, reference] = ['event', 'party', 'CLM'].map((name) => `${name}-${i}`)
    const own = { eventId, partyLocator, reference, eventType: 'claim.paid', reason: null } as JudgedEvent
    return { ...own, timestampMs: BigInt(i * 10_000), ...change(i) }
  })
  const find = createFieldFinder((eventType) => eventType === 'claim.rejected')
  const found = batchesOf(events).flatMap(find)
  const countOf = (field: JudgedField, finding: FieldFinding) =>
    found.filter((one) => one.place === field && one.finding === finding).length
  const counts = { eventCount: count, withoutParty: 0, withoutText: 0, inOtherCase: 0, countOf }
  return judgeEvents('claims', counts).map(({ code, isSure }) => (isSure ? code : `${code}?`))
}

t.test('one party or reference of nearly all events of a topic is a fault, and their own ids', async (t) => {
  const toOne = () => ({ partyLocator: 'party-1' })
  t.strictSame(codesOf(300, toOne), ['one-party'])
  t.strictSame(codesOf(15, toOne), ['one-party'])
  const atOnce = (ms: number) => (i: number) => ({ ...toOne(), timestampMs: BigInt(i * ms) })
  t.strictSame(codesOf(60, atOnce(10)), ['one-party?'], 'a fleet is renewed')
  t.strictSame(codesOf(60, atOnce(1_000)), ['one-party'], 'a minute of it')
  t.strictSame(
    codesOf(60, () => ({ ...toOne(), timestampMs: undefined })),
    ['one-party?'],
    'at an unknown time',
  )
  t.strictSame(
    codesOf(180, (i) => (i >= 60 && i < 120 ? { timestampMs: 60n } : atOnce(i < 60 ? 1 : 3_000)(i))),
    [],
    'a fleet is renewed, and hours later changed',
  )
  t.strictSame(
    codesOf(60, (i) => ({ reference: 'CLM-1', timestampMs: BigInt(i) })),
    ['one-reference?'],
    'of one claim',
  )
  t.strictSame(codesOf(14, toOne), [], 'a family moves')
  const oneByOne = (events: readonly JudgedEvent[]) => events.map((event) => [event])
  t.strictSame(codesOf(21, toOne, oneByOne), ['one-party'], 'the first four are not known to be alike')
  t.strictSame(
    codesOf(100, (i) => (i % 5 === 0 ? {} : toOne())),
    [],
    'a large customer',
  )
  t.strictSame(
    codesOf(100, (i) => ({ partyLocator: `party-${i % 3}` })),
    [],
  )
  t.strictSame(
    codesOf(100, () => ({ reference: 'claims-service' })),
    ['one-reference'],
  )
  t.strictSame(
    codesOf(100, () => ({ reference: 'x'.repeat(256) })),
    [],
    'too long to keep',
  )
  t.strictSame(
    codesOf(100, (i) => ({ reference: `event-${i}` })),
    ['event-id'],
  )
  t.match(DATA_FAULTS['event-id'], /"locator" in .* "eventId"/, 'either may lead to the other')
  t.strictSame(
    codesOf(100, (i) => (i % 5 === 0 ? {} : { reference: `event-${i}` })),
    [],
  )
  t.strictSame(
    codesOf(100, () => ({ partyLocator: 'party-1', reference: 'party-1' })),
    ['no-reference', 'one-party'],
  )
})

t.test('a reason that no event has whose text gives one is a fault', async (t) => {
  const rejected = { eventType: 'claim.rejected' }
  t.strictSame(
    codesOf(100, () => ({})),
    [],
    'no text gives one',
  )
  t.strictSame(
    codesOf(15, () => rejected),
    ['no-reason'],
  )
  t.strictSame(
    codesOf(14, () => rejected),
    ['no-reason?'],
  )
  t.strictSame(
    codesOf(100, (i) => (i === 0 ? { ...rejected, reason: 'late' } : rejected)),
    [],
  )
  t.strictSame(
    codesOf(15, (i) => ({ ...rejected, reason: i % 2 === 0 ? `event-${i}` : 'claim.rejected' })),
    ['no-reason'],
    'other fields',
  )
  t.strictSame(
    codesOf(15, () => ({ ...rejected, reason: 'late' })),
    [],
    'a common reason',
  )
})

t.test('a type in another letter case than the one that is known is a fault', async (t) => {
  const judge = createCaseJudge(['claim.paid', 'Bill.Due'])
  t.strictSame(['claim.paid', 'Claim.Paid', 'Bill.Due', 'bill.due', 'other'].map(judge), [
    false,
    true,
    false,
    true,
    false,
  ])
  const counts = { eventCount: 50, withoutParty: 0, withoutText: 5, countOf: countNone }
  const codes = (inOtherCase: number) =>
    judgeEvents('claims', { ...counts, inOtherCase }).map(({ code, isSure }) => (isSure ? code : `${code}?`))
  t.strictSame([codes(0), codes(4), codes(5)], [[], ['other-case?'], ['other-case']])
})
