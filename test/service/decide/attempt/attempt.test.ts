import t from 'tap'
import {
  type Attempt,
  afterDelivery,
  decideAttempt,
  decideAttempts,
  nextKeyNumber,
  type OpenAttempt,
  outgoingMessages,
  type RowBefore,
} from '../../../../src/service/decide/attempt/attempt.ts'
import type { Deliveries, Delivery } from '../../../../src/service/decide/attempt/delivery.ts'
import { somePreferences } from '../../build.ts'
import {
  anAttempt,
  anOpenAttempt,
  anOpenRetry,
  aRetry,
  EMAIL,
  FOUND,
  NOT_FOUND,
  SIMPLE_RULES,
  UNRESOLVED,
} from './build.ts'

const BEFORE: RowBefore = { attemptCount: 2, sendCount: 1, unknownKey: null }
const STORED = { subject: 'stored', body: 'stored', templateRevision: 'old' }

function decideOne(open: OpenAttempt, preferences = somePreferences()) {
  return decideAttempt(SIMPLE_RULES, open, new Map([['party-1', preferences]]))
}
const first = (overrides?: Parameters<typeof anOpenAttempt>[1]) => anOpenAttempt('e', overrides)
const retry = (overrides?: Parameters<typeof anOpenRetry>[1]) =>
  anOpenRetry('e', { before: BEFORE, ...overrides })

t.test('a first attempt counts only if it sends, and a retry always', async (t) => {
  t.match(decideOne(first()), { status: 'SENT', attemptCount: 1, address: EMAIL })
  t.match(decideOne(first({ contact: NOT_FOUND })), { status: 'SKIPPED', attemptCount: 0, address: null })
  t.match(decideOne(first({ contact: UNRESOLVED })), { status: 'FAILED', attemptCount: 0, address: null })
  for (const contact of [FOUND, NOT_FOUND, UNRESOLVED])
    t.match(decideOne(retry({ contact })), { attemptCount: 3 })
})

t.test('a message goes to the address of its channel', async (t) => {
  for (const [preferredChannel, address] of [
    ['EMAIL', EMAIL],
    ['SMS', '+1'],
    ['IN_APP', null],
  ] as const)
    t.match(decideOne(first(), somePreferences({ preferredChannel })), { address })
})

t.test('a stored text is sent as it is, a new one is rendered, and a skipped row has none', async (t) => {
  t.strictSame(decideOne(retry({ stored: STORED, variables: null })).text, STORED)
  t.strictSame(decideOne(first()).text, { subject: 'S', body: 'B', templateRevision: 'rev' })
  t.equal(decideOne(retry({ contact: NOT_FOUND, stored: STORED })).text, null)
})

t.test('an event that may have been pruned is not sent', async (t) => {
  t.match(decideOne(first({ isPruned: true })), { status: 'SKIPPED', text: null, address: null })
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
  t.equal(nextKeyNumber(first()), 1)
  t.equal(nextKeyNumber(retry()), 2)
  t.equal(nextKeyNumber(retry({ before: { ...BEFORE, unknownKey: 1 } })), 1)
})

t.test('only a SEND has a message', async (t) => {
  const skipped = decideAttempts(SIMPLE_RULES, [anOpenAttempt('skipped', { contact: NOT_FOUND })], new Map())
  const failed = decideAttempts(SIMPLE_RULES, [anOpenAttempt('failed', { contact: UNRESOLVED })], new Map())
  t.strictSame(outgoingMessages([...skipped, ...failed, aRetry('sent', { before: BEFORE })]), [
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
  const after = (build: (id: string) => Attempt) => {
    const { attempts: stored, unchanged } = afterDelivery(Object.keys(answers).map(build), deliveries)
    const counts = stored.map((one) => [one.eventId, one.status, one.attemptCount])
    return { counts, unchanged: [...unchanged] }
  }
  t.strictSame(
    after((id) => anAttempt(id)),
    {
      counts: [
        ['accepted', 'SENT', 1],
        ['refused', 'FAILED', 1],
        ['deferred', 'FAILED', 0],
      ],
      unchanged: [],
    },
  )
  t.strictSame(
    after((id) => aRetry(id, { attemptCount: 3 })),
    {
      counts: [
        ['accepted', 'SENT', 3],
        ['refused', 'FAILED', 3],
      ],
      unchanged: [['NTF-deferred', 'later']],
    },
  )
})

t.test('a retry for a channel that only another version knows costs no attempt', async (t) => {
  const preferences = somePreferences({ preferredChannel: 'PIGEON' })
  const after = (open: OpenAttempt) => afterDelivery([decideOne(open, preferences)], new Map())
  t.match(after(first()), { attempts: [{ status: 'FAILED', attemptCount: 0 }], unchanged: new Map() })
  const retried = after(retry())
  t.strictSame(retried.attempts, [], 'the row stays unchanged')
  t.match(retried.unchanged.get('NTF-e'), /^preferred channel unknown: PIGEON /)
})
