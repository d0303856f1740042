import t from 'tap'
import { dueEntryOf, refusalOf } from '../../../src/core/attempt/retry-candidate.ts'
import { aRetryCandidate } from './build.ts'

const SKIPPED = aRetryCandidate('NTF-1')
const { decision } = SKIPPED
const variables = { eventType: 'claim.paid', locator: 'CLM-1', reason: null }
const FAILED = { ...SKIPPED, status: 'FAILED', subject: 'S', body: 'B', isGivenUp: true } as const

t.test('skipped and given-up rows can be retried on request, others cannot', async (t) => {
  t.equal(refusalOf(SKIPPED), null)
  t.equal(refusalOf(FAILED), null)
  t.equal(refusalOf({ ...FAILED, status: 'SENT' }), 'it was sent')
  t.equal(refusalOf({ ...FAILED, isGivenUp: false }), 'the service still retries it by itself')
  for (const row of [SKIPPED, FAILED]) {
    t.match(refusalOf({ ...row, isErased: true }), /erased/)
    t.match(refusalOf({ ...row, decision: null }), /no decision/)
  }
  const pruned = aRetryCandidate('NTF-1', { decision: decision && { ...decision, ruleId: '(pruned)' } })
  t.match(refusalOf(pruned), /may have been told before a pruning/)
})

t.test(
  'a failed row is sent as stored; the text of a skipped one is rendered from its stored variables',
  async (t) => {
    const failed = dueEntryOf(FAILED)
    t.match(failed, { subject: 'S', body: 'B' })
    t.equal(failed.variables, undefined)
    t.match(dueEntryOf(SKIPPED), { isPartyInvalid: false, variables: variables })
  },
)

t.test('an invalid party locator is not treated as a missing one', async (t) => {
  const row = { ...SKIPPED, partyLocator: null, failureReason: 'invalid party locator' }
  t.equal(dueEntryOf(row).isPartyInvalid, true)
})
