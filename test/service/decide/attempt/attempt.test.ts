import t from 'tap'
import {
  afterDelivery,
  decideAttempts,
  nextKeyNumber,
  outgoingMessages,
  type RowBefore,
} from '../../../../src/service/decide/attempt/attempt.ts'
import type { Deliveries, Delivery } from '../../../../src/service/decide/attempt/delivery.ts'
import { somePreferences } from '../../build.ts'
import { anAttempt, anOpenAttempt, EMAIL, FOUND, NOT_FOUND, SIMPLE_RULES, UNRESOLVED } from './build.ts'

const BEFORE: RowBefore = { attemptCount: 2, sendCount: 1, unknownKey: null }
const STORED = { subject: 'stored', body: 'stored', templateRevision: 'old' }

function decideOne(overrides: Parameters<typeof anOpenAttempt>[1], preferences = somePreferences()) {
  const [attempt] = decideAttempts(
    SIMPLE_RULES,
    [anOpenAttempt('e', overrides)],
    new Map([['party-1', preferences]]),
  )
  return attempt
}

t.test('a first attempt counts only if it sends, and a retry always', async (t) => {
  t.match(decideOne({}), { status: 'SENT', attemptCount: 1, address: EMAIL })
  t.match(decideOne({ contact: NOT_FOUND }), { status: 'SKIPPED', attemptCount: 0, address: null })
  t.match(decideOne({ contact: UNRESOLVED }), { status: 'FAILED', attemptCount: 0, address: null })
  for (const contact of [FOUND, NOT_FOUND, UNRESOLVED])
    t.match(decideOne({ contact, before: BEFORE }), { attemptCount: 3 })
})

t.test('a message goes to the address of its channel', async (t) => {
  for (const [preferredChannel, address] of [
    ['EMAIL', EMAIL],
    ['SMS', '+1'],
    ['IN_APP', null],
  ] as const)
    t.match(decideOne({}, somePreferences({ preferredChannel })), { address })
})

t.test('a stored text is sent as it is, a new one is rendered, and a skipped row has none', async (t) => {
  t.strictSame(decideOne({ stored: STORED, variables: null })?.text, STORED)
  t.strictSame(decideOne({})?.text, { subject: 'S', body: 'B', templateRevision: 'rev' })
  t.equal(decideOne({ contact: NOT_FOUND, stored: STORED })?.text, null)
  t.throws(() => decideOne({ variables: null }), /no variables to render/)
})

t.test('an event that may have been pruned is not sent', async (t) => {
  t.match(decideOne({ isPruned: true }), { status: 'SKIPPED', text: null, address: null })
})

t.test('attempts are ordered by event id, so that two transactions cannot deadlock', async (t) => {
  const open = ['b', 'c', 'a'].map((eventId) => anOpenAttempt(eventId))
  const decided = decideAttempts(SIMPLE_RULES, open, new Map())
  t.strictSame(
    decided.map(({ eventId }) => eventId),
    ['a', 'b', 'c'],
  )
})

t.test('a key counts the committed sends, and repeats while a result is unknown', async (t) => {
  const keyOf = (before: RowBefore | null) => nextKeyNumber(anOpenAttempt('e', { before }))
  t.equal(keyOf(null), 1)
  t.equal(keyOf(BEFORE), 2)
  t.equal(keyOf({ ...BEFORE, unknownKey: 1 }), 1)
})

t.test('only a SEND has a message', async (t) => {
  const skipped = decideAttempts(SIMPLE_RULES, [anOpenAttempt('skipped', { contact: NOT_FOUND })], new Map())
  const failed = decideAttempts(SIMPLE_RULES, [anOpenAttempt('failed', { contact: UNRESOLVED })], new Map())
  t.strictSame(outgoingMessages([...skipped, ...failed, anAttempt('sent', { before: BEFORE })]), [
    { locator: 'NTF-sent', channel: 'EMAIL', idempotencyKey: 'sent/2', to: EMAIL, subject: 'S', body: 'B' },
  ])
})

t.test('a refused message is FAILED, and a deferred one costs no attempt', async (t) => {
  const answers: Record<string, Delivery> = {
    accepted: { receipt: 'r', error: null },
    refused: { receipt: null, error: 'no mailbox' },
    deferred: { receipt: null, error: 'later', isDeferred: true },
  }
  const deliveries: Deliveries = new Map(Object.entries(answers).map(([id, given]) => [`NTF-${id}`, given]))
  const after = (before: RowBefore | null) => {
    const attempts = Object.keys(answers).map((id) => anAttempt(id, { before, attemptCount: before ? 3 : 1 }))
    const { attempts: stored, unchanged } = afterDelivery(attempts, deliveries)
    const counts = stored.map((one) => [one.eventId, one.status, one.attemptCount])
    return { counts, unchanged: [...unchanged] }
  }
  t.strictSame(after(null), {
    counts: [
      ['accepted', 'SENT', 1],
      ['refused', 'FAILED', 1],
      ['deferred', 'FAILED', 0],
    ],
    unchanged: [],
  })
  t.strictSame(after(BEFORE), {
    counts: [
      ['accepted', 'SENT', 3],
      ['refused', 'FAILED', 3],
    ],
    unchanged: [['NTF-deferred', 'later']],
  })
})

t.test('a retry for a channel that only another version knows costs no attempt', async (t) => {
  const preferences = somePreferences({ preferredChannel: 'PUSH' })
  const after = (before: RowBefore | null) => {
    const attempts = [decideOne({ before }, preferences)].filter((one) => one !== undefined)
    return afterDelivery(attempts, new Map())
  }
  t.match(after(null), { attempts: [{ status: 'FAILED', attemptCount: 0 }], unchanged: new Map() })
  const retried = after(BEFORE)
  t.same(retried.attempts, [], 'the row stays unchanged')
  t.match(retried.unchanged.get('NTF-e'), /^preferred channel unknown: PUSH /)
})
