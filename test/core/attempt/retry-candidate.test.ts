import t from 'tap'
import { dueEntryOf, type RetryCandidate, refusalOf } from '../../../src/core/attempt/retry-candidate.ts'

const decision = {
  ruleId: 'no-email',
  variables: { eventType: 'claim.paid', locator: 'CLM-1', reason: null },
  topic: 'claims',
  partition: 0,
  offset: '7',
  envelopeMap: null,
}
const SKIPPED: RetryCandidate = {
  locator: 'NTF-1',
  eventId: 'event-1',
  eventType: 'claim.paid',
  partyLocator: 'party-1',
  status: 'SKIPPED',
  subject: null,
  body: null,
  failureReason: 'no email on file',
  createdAt: '2026-01-31T12:00:00.000000Z',
  attemptCount: 0,
  sendCount: 0,
  unknownKey: null,
  isGivenUp: false,
  isErased: false,
  decision,
}
const FAILED = { ...SKIPPED, status: 'FAILED', subject: 'S', body: 'B', isGivenUp: true } as const

t.test('a skipped row and one that is given up can be retried, others cannot', async (t) => {
  t.equal(refusalOf(SKIPPED), null)
  t.equal(refusalOf(FAILED), null)
  t.equal(refusalOf({ ...FAILED, status: 'SENT' }), 'it was sent')
  t.equal(refusalOf({ ...FAILED, isGivenUp: false }), 'the service still retries it by itself')
  for (const row of [SKIPPED, FAILED]) {
    t.match(refusalOf({ ...row, isErased: true }), /erased/)
    t.match(refusalOf({ ...row, decision: null }), /no decision/)
  }
  const pruned = { ...SKIPPED, decision: { ...decision, ruleId: '(pruned)' } }
  t.match(refusalOf(pruned), /may have been told before a pruning/)
})

t.test('a failed row is sent as stored, a skipped one has variables to render its text from', async (t) => {
  const failed = dueEntryOf(FAILED, decision.variables)
  t.match(failed, { subject: 'S', body: 'B' })
  t.equal(failed.variables, undefined)
  t.match(dueEntryOf(SKIPPED, decision.variables), { isPartyInvalid: false, variables: decision.variables })
})

t.test('an invalid party is not taken for a missing one', async (t) => {
  const row = { ...SKIPPED, partyLocator: null, failureReason: 'invalid party locator' }
  t.equal(dueEntryOf(row, decision.variables).isPartyInvalid, true)
})
