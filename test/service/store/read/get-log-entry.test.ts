import t from 'tap'
import { commitBatch } from '../../../../src/service/attempt/commit-batch.ts'
import type { NewPreferences } from '../../../../src/service/decide/party/preferences.ts'
import { getLogEntry } from '../../../../src/service/store/read/get-log-entry.ts'
import { listDueEntries } from '../../../../src/service/store/read/list-due-entries.ts'
import { archiveEnvelopeMap } from '../../../../src/service/store/write/archive-revisions.ts'
import { ensureCheckpoint } from '../../../../src/service/store/write/checkpoints.ts'
import { createStore } from '../../../../src/service/store/write/postgres-store.ts'
import { putPreferences } from '../../../../src/service/store/write/put-preferences.ts'
import { addRequest } from '../../../../src/service/store/write/request-row.ts'
import { resumeHolds } from '../../../../src/service/store/write/resume-holds.ts'
import { aLookedUpBatch, aMaker, commitRequested } from '../../attempt/build.ts'
import { anOpenAttempt, FOUND, recordingSend, SIMPLE_RULES, UNRESOLVED } from '../../decide/attempt/build.ts'
import { LIMITS, openDatabase } from '../fixtures.ts'

const { pool, client } = await openDatabase(t)

const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/

t.test('an entry has its decisions, oldest first', async (t) => {
  await ensureCheckpoint(pool, 'claims', 0)
  for (const source of ['{}', 'another']) await archiveEnvelopeMap(pool, { revision: 'ghi', source })
  const open = anOpenAttempt('a', { contact: UNRESOLVED })
  const { send } = recordingSend()
  const maker = aMaker(createStore(pool), send)
  const expectedCheckpoint = 9_007_199_254_740_992n
  await client.query('UPDATE notifications.projection_checkpoints SET "offset" = $1', [expectedCheckpoint])
  await commitBatch(maker, aLookedUpBatch([open], { expectedCheckpoint }))
  const { due } = await listDueEntries(
    pool,
    { maxAgeMs: 60_000, attemptCountMax: 3, minPauseMs: -60_000 },
    null,
    10,
  )
  const nextRetry = async () => (await getLogEntry(pool, LIMITS, open.locator))?.nextRetry
  t.match(await nextRetry(), { at: TIME, isOverdue: false, isHeld: false })
  for (const [target, isHeld] of [
    [{ topics: ['another'] }, false],
    [{ topics: ['claims'] }, true],
    [{}, true],
  ] as const) {
    const id = await addRequest(pool, { kind: 'hold', target }, 'alice', 'a test')
    t.match(await nextRetry(), { isHeld }, JSON.stringify(target))
    await resumeHolds(pool, [id], 'alice', 'a test')
  }
  const attempted = 'UPDATE notifications.notification_log SET last_attempt_at = now() - $1::interval'
  await client.query(attempted, ['3 minutes'])
  t.match(await nextRetry(), { isOverdue: true })
  t.ok(Date.parse((await nextRetry())?.at ?? '') > Date.now(), 'no time that has passed')
  const next = { ...SIMPLE_RULES, ruleTable: { ...SIMPLE_RULES.ruleTable, revision: 'next' } }
  await commitRequested(
    aMaker(createStore(pool), send, next),
    due.map((entry) => ({ due: entry, contact: FOUND })),
    { id: '1', by: 'alice', because: 'an outage' },
  )

  const entry = await getLogEntry(pool, LIMITS, open.locator)
  t.match(entry, {
    locator: open.locator,
    eventId: 'a',
    partyLocator: 'party-1',
    status: 'SENT',
    failureReason: null,
    attemptCount: 1,
    nextRetry: null,
    receipt: 'r',
    reference: String,
    createdAt: TIME,
    sentAt: TIME,
    decisions: [
      {
        attempt: 0,
        outcome: 'FAIL',
        facts: { party: 'unresolved' },
        receipt: null,
        ruleTableRevision: 'table',
        envelopeMapRevision: 'ghi',
        envelopeMap: '{}',
        decidedAt: TIME,
        offset: '9007199254740993',
        retry: null,
      },
      {
        attempt: 1,
        outcome: 'SEND',
        receipt: 'r',
        ruleTableRevision: 'next',
        envelopeMapRevision: 'ghi',
        topic: 'claims',
        retry: { by: 'alice', because: 'an outage' },
      },
    ],
  })
  t.equal(entry?.decisions.length, 2)
  t.equal(await getLogEntry(pool, LIMITS, 'NTF-b'), null)
})

t.test('a decision has the change of preferences that it followed', async (t) => {
  const preferences: NewPreferences = {
    email: null,
    phone: null,
    preferredChannel: 'EMAIL',
    optedOutEvents: [],
  }
  const optedOut = { ...preferences, optedOutEvents: ['claim.paid'] }
  const maker = aMaker(createStore(pool), recordingSend().send)
  const decideAfter = async (stored: NewPreferences, changedBy: string) => {
    await putPreferences(pool, 'party-1', stored, changedBy)
    const { offset: expectedCheckpoint } = await ensureCheckpoint(pool, 'claims', 0)
    await commitBatch(maker, aLookedUpBatch([anOpenAttempt(changedBy)], { expectedCheckpoint }))
    return (await getLogEntry(pool, LIMITS, `NTF-${changedBy}`))?.decisions[0]?.preferenceChange
  }
  const first = await decideAfter(optedOut, 'alice')
  t.match(first, { changedAt: TIME, changedBy: 'alice', optedOutAt: first?.changedAt })
  t.match(await decideAfter(preferences, 'bob'), { changedBy: 'bob', optedOutAt: null, withdrawnAt: TIME })
  await client.query(
    `UPDATE notifications.preference_change SET after = after || '{"optedOutEvents": {"all": true}}'`,
  )
  t.match(await getLogEntry(pool, LIMITS, 'NTF-bob'), { status: 'SENT' }, 'in the form of another version')
  const third = await decideAfter(optedOut, 'carol')
  t.match(third, { optedOutAt: third?.changedAt })
  t.match(await decideAfter({ ...optedOut, phone: '7' }, 'dan'), {
    changedBy: 'dan',
    optedOutAt: third?.changedAt,
  })
  const spelled = await decideAfter({ ...preferences, optedOutEvents: ['Claim.Paid\u00a0'] }, 'eve')
  t.match(spelled, { changedBy: 'eve', optedOutAt: third?.changedAt }, 'the same opt-out in another spelling')
  t.match(await getLogEntry(pool, LIMITS, 'NTF-eve'), { status: 'SKIPPED' })
})
