import t from 'tap'
import { findRefusal, findSkipReason } from '../../../../src/service/decide/attempt/retry-candidate.ts'
import { nextAttempt } from '../../../../src/service/decide/attempt/retry-entry.ts'
import { someFacts } from '../../build.ts'
import {
  aCandidateDecision,
  aDueEntry,
  anOpenAttempt,
  aRetryCandidate,
  FOUND,
  SIMPLE_RULES,
} from './build.ts'

const SKIPPED = aRetryCandidate('NTF-1')
const FAILED = { ...SKIPPED, status: 'FAILED', subject: 'S', body: 'B', isGivenUp: true } as const

t.test('skipped and given-up rows can be retried on request, others cannot', async (t) => {
  t.equal(findRefusal(SKIPPED), null)
  t.equal(findRefusal(FAILED), null)
  t.equal(findRefusal({ ...FAILED, status: 'SENT' }), 'it was sent')
  t.equal(findRefusal({ ...FAILED, isGivenUp: false }), 'the service still retries it by itself')
  for (const row of [SKIPPED, FAILED]) {
    t.match(findRefusal({ ...row, isErased: true }), /erased/)
    t.match(findRefusal({ ...row, decision: null }), /no decision/)
  }
  const pruned = aRetryCandidate('NTF-1', { decision: aCandidateDecision({ ruleId: '(pruned)' }) })
  t.match(findRefusal(pruned), /may have been told before a pruning/)
})

t.test('an invalid party locator is not treated as a missing one', async (t) => {
  const facts = { ...someFacts({ party: 'missing' }), invalidLocator: true }
  const decision = aCandidateDecision({ ruleId: 'no-party', facts })
  const candidate = { ...SKIPPED, partyLocator: null, decision }
  const reason = findSkipReason(SIMPLE_RULES.ruleTable.decide, candidate, undefined)
  t.equal(reason, 'it would be skipped again: invalid party locator')
})

t.test('a skipped row without what its text is rendered from is refused alone', async (t) => {
  const decision = aCandidateDecision({ variables: null })
  t.match(findRefusal(aRetryCandidate('e', { decision })), /rendered from is not stored/)
})

t.test('a row without a text is rendered, and not retried if nothing can be rendered', async (t) => {
  const { origin, variables } = anOpenAttempt('e')
  const entry = { due: aDueEntry('e', { subject: null, body: null }), contact: FOUND }
  const retry = (recorded: typeof variables | null) =>
    nextAttempt(entry, { origin, variables: recorded, templateRevision: null, stated: {} }, null)
  t.match(retry(variables), { kind: 'rendered retry', variables })
  t.throws(() => retry(null), /no variables to render/)
})
