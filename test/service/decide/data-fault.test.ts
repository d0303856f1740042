import t from 'tap'
import {
  findAddress,
  judgeAddresses,
  judgeEvents,
  judgeParties,
} from '../../../src/service/decide/data-fault.ts'
import { aFound } from '../build.ts'

/** Events, those without a party, a text, a reference; parties found and not found; and the faults. */
const EVENTS: readonly (readonly [number, number, number, number, number, number, ...string[]])[] = [
  [0, 0, 0, 0, 0, 0],
  [1, 0, 0, 0, 1, 0],
  [20, 19, 19, 19, 1, 0],
  [1, 1, 0, 1, 0, 0, 'no-party'],
  [20, 0, 20, 0, 20, 0, 'no-text'],
  [20, 20, 20, 20, 0, 0, 'no-party', 'no-text'],
  [20, 0, 0, 20, 20, 0, 'no-reference'],
  [9, 0, 0, 0, 0, 9, 'not-found'],
  [9, 0, 0, 0, 1, 8],
  [50, 0, 0, 0, 40, 10],
  [50, 0, 0, 0, 39, 11, 'not-found'],
]
t.test('what all events of a topic lack is a fault, and a fifth of unknown parties', async (t) => {
  for (const [eventCount, withoutParty, withoutText, withoutReference, found, notFound, ...codes] of EVENTS) {
    const counts = { eventCount, withoutParty, withoutText, withoutReference }
    t.same(
      [...judgeEvents('claims', counts), ...judgeParties('claims', found, notFound)].map(({ code }) => code),
      codes,
    )
  }
})

t.test('a place that no answer has is a fault, whatever the other places say', async (t) => {
  t.equal(findAddress('email', { ...aFound({ email: null }), without: ['email'] }), 'no place')
  t.equal(findAddress('email', aFound({ email: null })), 'blank')
  t.equal(findAddress('email', aFound({ email: 'PTY-1' })), 'no address')
  t.equal(findAddress('phone', aFound({ phone: '+41 44 000' })), 'address')
  t.equal(findAddress('phone', aFound({ phone: 'a@b' })), 'no address')
  const counts = { address: 0, 'no address': 0, blank: 0, 'no place': 0 }
  const codes = (change: Partial<typeof counts>) =>
    judgeAddresses('email', { ...counts, ...change }).map(({ code }) => code)
  t.same(codes({ 'no place': 20 }), ['no-email-place'])
  t.same(codes({ 'no place': 19 }), [])
  t.same(codes({ 'no place': 20, blank: 1 }), [])
  t.same(codes({ 'no address': 3, blank: 17 }), ['no-email'])
  t.same(codes({ 'no address': 19, address: 1 }), [])
  t.same(codes({ blank: 20 }), [])
})
