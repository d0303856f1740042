import { sql } from 'slonik'
import t from 'tap'
import { z } from 'zod'
import type { StoredPreferences } from '../../../src/core/party/preferences.ts'
import { getLogEntry } from '../../../src/postgres/read/get-log-entry.ts'
import { listDueEntries } from '../../../src/postgres/read/list-due-entries.ts'
import { archiveEnvelopeMap } from '../../../src/postgres/write/archive-revisions.ts'
import { loadCheckpoint } from '../../../src/postgres/write/checkpoints.ts'
import { commitBatch } from '../../../src/postgres/write/commit-batch.ts'
import { commitRetries } from '../../../src/postgres/write/commit-retries.ts'
import { putPreferences } from '../../../src/postgres/write/put-preferences.ts'
import { aBatch, aFailedEntry, anEntry, openDatabase } from '../fixtures.ts'

const LIMITS = { maxAgeMs: 86_400_000, attemptCountMax: 3 }
const { pool } = await openDatabase(t)

const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/

t.test('an entry comes with its decisions, the first one first', async (t) => {
  await loadCheckpoint(pool, 'claims', 0)
  for (const source of ['{}', 'another']) await archiveEnvelopeMap(pool, { revision: 'ghi', source })
  const failed = { ...aFailedEntry('a'), offset: 9_007_199_254_740_993n }
  await commitBatch(pool, aBatch([failed]), async () => new Map())
  const { due } = await listDueEntries(
    pool,
    { maxAgeMs: 60_000, attemptCountMax: 3, minPauseMs: -60_000 },
    null,
    10,
  )
  const { decision } = anEntry('a')
  await commitRetries(
    pool,
    {
      ruleTableRevision: 'next',
      asked: due.map((entry) => ({ due: entry, contact: undefined })),
      request: { by: 'alice', because: 'an outage' },
      decide: ({ due }) => ({ due, decision, status: 'SENT', attemptCount: 1, address: null }),
    },
    async () => new Map([[failed.locator, { receipt: 'r', error: null }]]),
    { error: () => {} },
  )

  const entry = await getLogEntry(pool, LIMITS, failed.locator)
  t.match(entry, {
    locator: failed.locator,
    eventId: 'a',
    partyLocator: 'party-1',
    status: 'SENT',
    failureReason: null,
    attemptCount: 1,
    createdAt: TIME,
    sentAt: TIME,
    decisions: [
      {
        attempt: 0,
        outcome: 'FAIL',
        facts: failed.decision.facts,
        receipt: null,
        ruleTableRevision: 'def',
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
})

t.test('a decision comes with the change of preferences that it followed', async (t) => {
  const preferences: StoredPreferences = {
    email: null,
    phone: null,
    preferredChannel: 'EMAIL',
    optedOutEvents: [],
  }
  const optedOut = { ...preferences, optedOutEvents: ['claim.paid'] }
  for (const [i, stored] of [optedOut, preferences, optedOut, optedOut].entries()) {
    await putPreferences(pool, 'party-1', stored, `subject ${i}`)
  }
  const changes = await pool.any(sql.type(z.object({ id: z.bigint(), at: z.string() }))`
    SELECT id, changed_at AS at FROM notifications.preference_change ORDER BY id`)
  const changeOf = async (eventId: string, index: number) => {
    const entry = anEntry(eventId)
    const decision = { ...entry.decision, preferenceChangeId: String(changes[index]?.id) }
    const { offset: heldOffset } = await loadCheckpoint(pool, 'claims', 0)
    const batch = aBatch([{ ...entry, decision }], { heldOffset, nextOffset: heldOffset + 1n })
    await commitBatch(pool, batch, async () => new Map())
    return (await getLogEntry(pool, LIMITS, entry.locator))?.decisions[0]?.preferenceChange
  }
  const at = changes.map((change) => change.at)
  t.same(await changeOf('opted out', 0), { changedAt: at[0], changedBy: 'subject 0', optedOutAt: at[0] })
  t.same(await changeOf('opted in', 1), { changedAt: at[1], changedBy: 'subject 1', optedOutAt: null })
  t.same(await changeOf('still opted out', 3), {
    changedAt: at[3],
    changedBy: 'subject 3',
    optedOutAt: at[2],
  })
})

t.test('an unknown locator has no entry', async (t) => {
  t.equal(await getLogEntry(pool, LIMITS, anEntry('b').locator), null)
})
