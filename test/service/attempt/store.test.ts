import t, { type Test } from 'tap'
import { listDueEntries } from '../../../src/service/store/read/list-due-entries.ts'
import { awaitAttempts } from '../../../src/service/store/write/attempts-lock.ts'
import { ensureCheckpoint } from '../../../src/service/store/write/checkpoints.ts'
import { createStore } from '../../../src/service/store/write/postgres-store.ts'
import { putPreferences } from '../../../src/service/store/write/put-preferences.ts'
import { addRequest, takeRequest } from '../../../src/service/store/write/request-row.ts'
import { resumeHolds } from '../../../src/service/store/write/resume-holds.ts'
import { openDatabase } from '../store/fixtures.ts'
import { attemptsOn, RETRY_ALL, type TestOnStore, type TestStore } from './build.ts'
import { testBatches } from './contract/batches.ts'
import { testHolds } from './contract/holds.ts'
import { testPreferences } from './contract/preferences.ts'
import { testRequests } from './contract/requests.ts'
import { testRetries } from './contract/retries.ts'
import { MemoryStore } from './memory-store.ts'

/** The behaviour that an attempt expects of every store. */
function testStore(t: Test, open: () => Promise<TestStore>): void {
  const test: TestOnStore = (name, run) => t.test(name, async (t) => run(t, attemptsOn(await open())))
  for (const testPart of [testBatches, testPreferences, testHolds, testRetries, testRequests]) testPart(test)
}

const FIRST = { topic: 'claims', partition: 0 }

t.test('in memory', async (t) => {
  testStore(t, async (): Promise<TestStore> => {
    const memory = new MemoryStore()
    let traps: ((...refused: Parameters<typeof memory.refuses>) => boolean)[] = []
    memory.refuses = (...refused) => (traps.some((trap) => trap(...refused)) ? 'violates trap' : null)
    return {
      store: memory.connect(),
      rows: async () => memory.rows(),
      decisions: async () => memory.decisions().sort((a, b) => (a.eventId < b.eventId ? -1 : 1)),
      rejected: async () =>
        memory.rejected().map(({ id, message, rejection }) => ({
          id,
          offset: message.offset,
          error: rejection.error,
        })),
      redrives: async () => memory.redrives().map(({ result }) => result),
      request: async () => {
        const id = memory.addRequest(RETRY_ALL)
        const taken = memory.requests().find((request) => request.id === id)
        if (taken?.kind !== 'retry') throw new Error(`request ${id} is gone`)
        return taken
      },
      hold: (topics) => memory.hold(topics),
      resume: async (hold) => memory.resume(hold),
      requests: async () =>
        memory.requests().map(({ progress: { position }, end }) => ({ position, isOpen: end === null })),
      eraseReasons: async () => memory.eraseReasons(),
      checkpoint: async () => memory.checkpoint(FIRST),
      setCheckpoint: async (offset) => memory.setCheckpoint(FIRST, offset),
      due: async () => memory.entries('FAILED'),
      putPreferences: async (party, { preferredChannel, optedOutEvents }) =>
        void memory.putPreferences(party, { preferredChannel, optedOutEvents: new Set(optedOutEvents) }),
      refuse: async (table, eventId, fromAttempt = 0) => {
        traps = [
          ...traps,
          (of, attempt) =>
            of === table &&
            (eventId === null || attempt.eventId === eventId) &&
            attempt.attemptCount >= fromAttempt,
        ]
      },
      forgetDecisions: async (eventId) => memory.forgetDecisions(eventId),
    }
  })
})

t.test('in PostgreSQL', async (t) => {
  const { pool, client } = await openDatabase(t)
  const rowsOf = async (query: string) => (await client.query(query)).rows
  testStore(t, async (): Promise<TestStore> => {
    await client.query(`
      TRUNCATE notifications.notification_log, notifications.decision, notifications.rejected_message,
        notifications.projection_checkpoints, notifications.notification_preferences, notifications.redrive,
        notifications.request`)
    for (const table of ['notification_log', 'decision'])
      await client.query(`ALTER TABLE notifications.${table} DROP CONSTRAINT IF EXISTS trap`)
    for (const partition of [0, 1]) await ensureCheckpoint(pool, 'claims', partition)
    return {
      store: createStore(pool),
      rows: () =>
        rowsOf(`
          SELECT locator, event_id AS "eventId", status, attempt_count AS "attemptCount", subject, body,
            failure_reason AS "failureReason", last_attempt_at IS NOT NULL AS "wasTried"
          FROM notifications.notification_log ORDER BY event_id`),
      decisions: () =>
        rowsOf(`
          SELECT locator, event_id AS "eventId", attempt, outcome, receipt, send_error AS "sendError",
            unknown_attempt AS "unknownKey", rule_table_revision AS "ruleTableRevision",
            template_revision AS "templateRevision", variables, retried_by AS "requestedBy",
            request_id::text AS request, preference_change_id AS "preferenceChangeId", json_build_object(
              'topic', topic, 'partition', partition_id, 'envelopeMapRevision', envelope_map_revision
            ) AS origin, "offset"
          FROM notifications.decision ORDER BY event_id, attempt`).then((rows) =>
          rows.map(({ offset, origin, ...row }) => ({
            ...row,
            origin: { ...origin, offset: BigInt(offset) },
          })),
        ),
      rejected: async () =>
        (
          await rowsOf('SELECT id, "offset", error FROM notifications.rejected_message ORDER BY "offset"')
        ).map(({ id, offset, error }) => ({ id: BigInt(id), offset: BigInt(offset), error })),
      redrives: async () =>
        (await rowsOf('SELECT result FROM notifications.redrive')).map(({ result }) => result),
      request: async () => {
        const id = await addRequest(pool, RETRY_ALL, 'alice', 'an outage')
        const taken = await takeRequest(pool, [], false)
        if (taken?.id !== id || taken.kind !== 'retry') throw new Error(`request ${id} was not taken`)
        return taken
      },
      hold: async (topics) => {
        const target = topics === null ? {} : { topics }
        const id = await addRequest(pool, { kind: 'hold', target }, 'alice', 'a wrong text')
        await awaitAttempts(pool)
        return id
      },
      resume: async (hold) => void (await resumeHolds(pool, [hold], 'bob', '')),
      requests: () =>
        rowsOf(
          'SELECT progress AS position, ended_at IS NULL AS "isOpen" FROM notifications.request ORDER BY id',
        ),
      eraseReasons: async () =>
        void (await client.query("UPDATE notifications.request SET because = 'erased'")),
      checkpoint: async () => (await ensureCheckpoint(pool, 'claims', 0)).offset,
      setCheckpoint: async (offset) =>
        void (await client.query(
          'UPDATE notifications.projection_checkpoints SET "offset" = $1 WHERE partition_id = 0',
          [offset],
        )),
      due: async () => {
        const limits = { maxAgeMs: 3_600_000, attemptCountMax: 100, minPauseMs: -3_600_000 }
        const { due } = await listDueEntries(pool, limits, null, 500)
        return due.toSorted((a, b) => (a.eventId < b.eventId ? -1 : 1))
      },
      putPreferences: async (party, preferences) =>
        void (await putPreferences(pool, party, preferences, null)),
      refuse: async (table, eventId, fromAttempt = 0) => {
        const [name, attempt] =
          table === 'log' ? ['notification_log', 'attempt_count'] : ['decision', 'attempt']
        const accepted =
          eventId === null ? 'false' : `event_id <> '${eventId}' OR ${attempt} < ${fromAttempt}`
        await client.query(
          `ALTER TABLE notifications.${name} ADD CONSTRAINT trap CHECK (${accepted}) NOT VALID`,
        )
      },
      forgetDecisions: async (eventId) =>
        void (await client.query('DELETE FROM notifications.decision WHERE event_id = $1', [eventId])),
    }
  })
})
