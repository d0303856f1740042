import t from 'tap'
import {
  createAddressFinder,
  judgeAddresses,
  judgeEvents,
  judgeParties,
} from '../../../src/service/decide/data-fault.ts'
import { createCaseJudge } from '../../../src/service/decide/event/event-type-pattern.ts'
import { aFound } from '../build.ts'

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
    const counts = { eventCount, withoutParty, withoutText, inOtherCase: 0, withoutReference }
    t.same(
      [...judgeEvents('claims', counts), ...judgeParties('claims', found, notFound)].map(
        ({ code, isSure }) => (isSure ? code : `${code}?`),
      ),
      codes,
    )
  }
})

t.test('a place that no answer has is a fault, whatever the other places say', async (t) => {
  const findAddress = createAddressFinder()
  t.equal(findAddress('email', 'a', { ...aFound({ email: null }), without: ['email'] }), 'no place')
  t.equal(findAddress('email', 'a', aFound({ email: null })), 'blank')
  t.equal(findAddress('email', 'a', aFound({ email: 'PTY-1' })), 'no address')
  t.equal(findAddress('phone', 'a', aFound({ phone: '+41 44 000' })), 'address')
  t.equal(findAddress('phone', 'a', aFound({ phone: 'a@b' })), 'no address')
  const counts = { address: 0, repeated: 0, 'no address': 0, blank: 0, 'no place': 0 }
  const codes = (change: Partial<typeof counts>) =>
    judgeAddresses('email', { ...counts, ...change }).map(({ code }) => code)
  t.same(codes({ 'no place': 20 }), ['no-email-place'])
  t.same(codes({ 'no place': 19 }), [])
  t.same(codes({ 'no place': 20, blank: 1 }), [])
  t.same(codes({ 'no address': 5, blank: 15 }), ['no-email'])
  t.same(codes({ 'no address': 4, blank: 16 }), [])
  t.same(codes({ 'no address': 11, address: 9 }), ['no-email'], 'half of them')
  t.same(codes({ 'no address': 10, address: 10 }), [])
  t.same(codes({ 'no address': 41, address: 159 }), ['no-email'], 'a fifth of two hundred')
  t.same(codes({ 'no address': 40, address: 160 }), [])
  t.same(codes({ blank: 20 }), [])
  t.same(codes({ repeated: 19, address: 1 }), ['one-email'])
  t.same(codes({ repeated: 10, address: 10 }), [])
  t.same(codes({ repeated: 19, 'no address': 1 }), ['one-email'])
})

t.test('an address that the party before had, too, is repeated', async (t) => {
  const findAddress = createAddressFinder()
  const find = (party: string, email: string | null) => findAddress('email', party, aFound({ email }))
  t.equal(find('a', 'x@y'), 'address')
  t.equal(find('a', 'x@y'), 'address', 'its own')
  t.equal(find('b', 'x@y'), 'repeated')
  t.equal(find('c', null), 'blank')
  t.equal(find('d', 'x@y'), 'repeated')
  t.equal(find('e', 'z@y'), 'address')
  t.equal(findAddress('phone', 'f', aFound({ phone: '+41 44 000' })), 'address', 'of its own kind')
})

t.test('a type in another letter case than the one that is known is a fault', async (t) => {
  const judge = createCaseJudge(['claim.paid', 'Bill.Due'])
  t.same(['claim.paid', 'Claim.Paid', 'Bill.Due', 'bill.due', 'other'].map(judge), [
    false,
    true,
    false,
    true,
    false,
  ])
  const counts = { eventCount: 50, withoutParty: 0, withoutText: 5, withoutReference: 0 }
  const codes = (inOtherCase: number) =>
    judgeEvents('claims', { ...counts, inOtherCase }).map(({ code, isSure }) => (isSure ? code : `${code}?`))
  t.same([codes(0), codes(4), codes(5)], [[], ['other-case?'], ['other-case']])
})
