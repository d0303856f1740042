import t from 'tap'
import { judgeSample, toSample } from '../../../src/operations/doctor/newest-messages.ts'
import { loadEnvelopeMaps, mapOf } from '../../../src/service/decide/event/envelope-map.ts'
import { aMessage } from '../../service/build.ts'

const MAP = mapOf(
  loadEnvelopeMaps(
    JSON.stringify({
      eventId: '/id',
      eventType: '/type',
      partyLocator: '/party',
      locator: '/claim',
      reason: '/why',
    }),
  ),
  'claims',
)
type Value = Record<string, unknown>
const some = (count: number, change: (index: number) => Value) =>
  Array.from({ length: count }, (_, i): Value => {
    return { id: `event-${i}`, type: 'claim.paid', party: `party-${i}`, claim: 'CLM-1', ...change(i) }
  })
const noParty = () => ({ party: undefined })
const noText = () => ({ type: '1.0' })
const noClaim = () => ({ claim: undefined })
const REPEATED = /correct "eventId" in rules\/envelope.json, or have the producer/

/** Messages of a topic, and what doctor says of them. */
const SAMPLES: readonly (readonly [string, Value[], ...(readonly [boolean, RegExp, RegExp])[]])[] = [
  ['all is well', some(20, (i) => ({ claim: `CLM-${i}` }))],
  ['four without a party', some(4, noParty), [false, /"partyLocator".*0 of 4/, /envelope.json/]],
  ['five without a party', some(5, noParty), [true, /"partyLocator".*0 of 5/, /envelope.json/]],
  [
    'five without an id',
    some(5, () => ({ id: undefined })),
    [true, /"eventId".*0 of 5/, /then `rejected redrive` what was rejected, and `retry --read-again`/],
  ],
  ['four without a text', some(4, noText), [false, /none of 4 events/, /"eventType"/]],
  ['five without a text', some(5, noText), [true, /none of 5 events/, /"eventType"/]],
  [
    'five in another letter case, of ten',
    some(10, (i) => (i < 5 ? { type: 'Claim.Paid' } : {})),
    [true, /5 of 10 events .* in another letter case/, /have the producer write these event types/],
  ],
  ['four without a reference', some(4, noClaim)],
  [
    'five without a reference',
    some(5, noClaim),
    [false, /0 of 5 messages: messages will name the member's locator in place of/, /^check "locator" in/],
  ],
  ['a reference in one of five', some(5, (i) => (i === 0 ? {} : noClaim()))],
  [
    'twenty of one party',
    some(20, (i) => ({ party: 'party-1', claim: `CLM-${i}` })),
    [true, /20 of 20 events of claims name the same party$/, /"partyLocator"/],
  ],
  [
    'twenty of one party at once',
    some(20, (i) => ({ party: 'party-1', claim: `CLM-${i}` })),
    [false, /20 of 20 events of claims name the same party, which came at once/, /"partyLocator"/],
  ],
  ['fourteen of one party', some(14, () => ({ party: 'party-1' }))],
  [
    'their event ids as the claim',
    some(20, (i) => ({ claim: `event-${i}` })),
    [false, /20 of 20 events of claims have their own event id/, /"locator"/],
  ],
  ['one event, sent again', some(5, () => ({ id: 'same', party: 'party-1' }))],
  [
    'one id, other bytes in three of five',
    some(5, (i) => (i < 3 ? { id: 'same', party: 'party-1', at: i } : {})),
    [true, /3 of 5 messages share an event id \(\/id\) .* other bytes: same$/, REPEATED],
  ],
  [
    'one id, other bytes in two of five',
    some(5, (i) => (i < 2 ? { id: 'same', party: 'party-1', at: i } : {})),
    [false, /2 of 5 messages share/, REPEATED],
  ],
  [
    'one id, other bytes in all of four',
    some(4, (at) => ({ id: 'same', party: 'party-1', at })),
    [false, /4 of 4 messages share/, REPEATED],
  ],
  [
    'one id, other reasons',
    some(5, (i) => (i < 2 ? { id: 'same', party: 'party-1', why: `${i}` } : {})),
    [true, /1 event id \(\/id\) stood for different events: same/, REPEATED],
  ],
]
t.test('a few messages are a warning at most, and what is wrong with many a fault', async (t) => {
  for (const [title, values, ...expected] of SAMPLES) {
    const messages = values.map((value, i) => ({
      ...aMessage(0n, JSON.stringify(value)),
      timestampMs: title.endsWith('at once') ? 0n : BigInt(i * 10_000),
    }))
    const found = judgeSample(toSample('claims', messages, MAP), false, (type) => type === 'Claim.Paid')
    t.equal(found.length, expected.length, title)
    t.match(
      found,
      expected.map(([isFailure, detail, remedy]) => ({ isFailure, detail, remedy })),
      title,
    )
  }
})
