import pino from 'pino'
import t from 'tap'
import { templates } from '#generated/templates.ts'
import { beginPruning } from '../../../src/operations/prune/prune-rows.ts'
import { createArchive } from '../../../src/operations/replay/archive.ts'
import { recordedEntryPages } from '../../../src/operations/replay/list-recorded-entries.ts'
import { verify } from '../../../src/operations/replay/verify-entry.ts'
import { createDispatch } from '../../../src/service/attempt/dispatch.ts'
import type { LookUpNeeds } from '../../../src/service/attempt/look-up.ts'
import { createLocators } from '../../../src/service/attempt/new-locator.ts'
import { takeFingerprint } from '../../../src/service/consume/records/record.ts'
import { unobserved } from '../../../src/service/decide/attempt/stage.ts'
import { readRules } from '../../../src/service/decide/rules/archived-rules.ts'
import { explain } from '../../../src/service/decide/why/explain-decision.ts'
import { findLogged } from '../../../src/service/store/read/find-logged.ts'
import { getLogEntry } from '../../../src/service/store/read/get-log-entry.ts'
import { readArchived } from '../../../src/service/store/read/read-archive.ts'
import { archiveRevisions } from '../../../src/service/store/write/archive-revisions.ts'
import { ensureCheckpoint } from '../../../src/service/store/write/checkpoints.ts'
import { createStore } from '../../../src/service/store/write/postgres-store.ts'
import { aFound, aMessage, sha256 } from '../build.ts'
import { aParsedEvent, recordingSend, SIMPLE_RULES } from '../decide/attempt/build.ts'
import { decisionPages, openDatabase } from '../store/fixtures.ts'
import { ruleTable } from '../store/record.ts'
import { aMaker } from './build.ts'

const { pool, client } = await openDatabase(t)
const table = await ruleTable()
await archiveRevisions(pool, table, [])
const CUTOFF = '2026-01-31T12:00:00Z'
const CUTOFF_MS = Date.parse(CUTOFF)

/** Dispatches events with these ids and times of publication; returns the ids of those sent. */
async function dispatchAll(
  times: Record<string, number | undefined>,
  partition = 0,
  topic = 'claims',
): Promise<readonly string[]> {
  const { offset: expectedCheckpoint } = await ensureCheckpoint(pool, topic, partition)
  const messages = Object.entries(times).map(([eventId, timestampMs], i) => ({
    ...aMessage(expectedCheckpoint + BigInt(i + 1), eventId),
    ...(timestampMs !== undefined && { timestampMs: BigInt(timestampMs) }),
  }))
  const lastOffset = expectedCheckpoint + BigInt(messages.length)
  const recording = recordingSend()
  const lookUps: LookUpNeeds = {
    parserFor:
      () =>
      ({ value }) => ({ kind: 'event', event: aParsedEvent(String(value)) }),
    findLogged: (events) => findLogged(pool, events),
    lookUpContacts: async (parties) => new Map(parties.map((party) => [party, aFound()])),
    envelopeMapRevision: 'ghi',
    parseBy: () => ({ kind: 'tombstone' }),
    stage: unobserved,
    newLocator: createLocators(),
    takeFingerprint,
  }
  const rules = { ...SIMPLE_RULES, ruleTable: table, templates }
  const maker = aMaker(createStore(pool), recording.send, rules)
  const dispatch = createDispatch(maker, lookUps, () => {}, pino({ enabled: false }))
  const batch = { topic, partition, messages, expectedCheckpoint, lastOffset, lastMessage: null }
  await Promise.all(dispatch([{ batch, isAlone: false }]))
  return recording.sent
}

/** Reads the partition again from its start. */
const rewind = (partition: number) =>
  client.query('UPDATE notifications.projection_checkpoints SET "offset" = -1 WHERE partition_id = $1', [
    partition,
  ])

t.test('an event that is published again after a pruning is SKIPPED, and all others are sent', async (t) => {
  t.strictSame(await dispatchAll({ before: CUTOFF_MS - 1 }), ['before'], 'while nothing was pruned')
  const read = Object.fromEntries(['a', 'b', 'c', 'd'].map((eventId) => [eventId, CUTOFF_MS - 1]))
  await dispatchAll(read)
  await beginPruning(pool, '2025-01-31T12:00:00Z', 'alice')
  await beginPruning(pool, CUTOFF, 'alice')
  await beginPruning(pool, '2024-01-31T12:00:00Z', 'alice')
  await rewind(0)
  const sent = await dispatchAll({
    old: CUTOFF_MS - 1,
    young: CUTOFF_MS,
    undated: undefined,
    timeless: -1,
    before: 0,
  })
  t.strictSame(sent, ['timeless', 'undated', 'young'])
  const { rows } = await client.query(
    "SELECT status, failure_reason, body FROM notifications.notification_log WHERE event_id = 'old'",
  )
  t.strictSame(rows, [{ status: 'SKIPPED', failure_reason: 'older than the last pruning', body: null }])
})

t.test('an event that was unread during a pruning is sent, however old it is', async (t) => {
  await dispatchAll({ 'read-1': CUTOFF_MS - 2, 'read-2': CUTOFF_MS - 2 }, 1)
  await beginPruning(pool, CUTOFF, 'alice')
  await client.query("DELETE FROM notifications.notification_log WHERE event_id LIKE 'read-%'")
  t.strictSame(await dispatchAll({ unread: CUTOFF_MS - 1 }, 1), ['unread'])
  const added = { 'of a topic newly added': CUTOFF_MS - 1 }
  t.strictSame(await dispatchAll(added, 1, 'billing'), Object.keys(added))
  await rewind(1)
  t.strictSame(
    await dispatchAll({ 'read-1': CUTOFF_MS - 2, 'read-2': CUTOFF_MS - 2, unread: CUTOFF_MS - 1 }, 1),
    [],
  )
})

t.test('each pruning counts for what it may have deleted', async (t) => {
  await dispatchAll({ first: CUTOFF_MS - 2 }, 3)
  await beginPruning(pool, CUTOFF, 'alice')
  await dispatchAll({ second: CUTOFF_MS - 2 }, 3)
  await beginPruning(pool, '2025-01-31T12:00:00Z', 'alice')
  await client.query("DELETE FROM notifications.notification_log WHERE event_id IN ('first', 'second')")
  await rewind(3)
  t.strictSame(await dispatchAll({ first: CUTOFF_MS - 2, second: CUTOFF_MS - 2, third: CUTOFF_MS - 2 }, 3), [
    'second',
    'third',
  ])
})

t.test('while a recreated topic is read again, and in its new partitions, nothing old is sent', async (t) => {
  const read = { 'copied-1': CUTOFF_MS - 2, 'copied-2': CUTOFF_MS - 2 }
  await dispatchAll(read, 4)
  await beginPruning(pool, CUTOFF, 'alice')
  await client.query("DELETE FROM notifications.notification_log WHERE event_id LIKE 'copied-%'")
  await rewind(4)
  await beginPruning(pool, CUTOFF, 'alice')
  t.strictSame(await dispatchAll(read, 4), [])
  t.strictSame(await dispatchAll({ 'from a copy': CUTOFF_MS - 1, 'since then': CUTOFF_MS }, 5), [
    'since then',
  ])
})

t.test('an event skipped because of a pruning is explained without a rule', async (t) => {
  const { rows } = await client.query(
    "SELECT locator FROM notifications.notification_log WHERE event_id = 'old'",
  )
  const entry = await getLogEntry(pool, { maxAgeMs: 86_400_000, attemptCountMax: 3 }, rows[0].locator)
  if (entry === null) throw new Error('there is no such entry')
  const rules = await readRules(entry.decisions, (revision) => readArchived(pool, 'ruleset', revision), [])
  t.equal(
    explain(entry, rules).decisions[0]?.why,
    'SKIP (older than the last pruning), whatever the rules say: its row may have been pruned, and a member is told only once.',
  )
  const archive = createArchive(new Map(), (revision) => readArchived(pool, 'ruleset', revision), sha256)
  for await (const page of recordedEntryPages(pool, 100)) {
    const old = page.find(({ locator }) => locator === entry.locator)
    t.strictSame(old && (await verify(old, archive)), { differences: [], unverifiable: [] })
  }
  const [page] = await decisionPages(pool, '2020-01-01T00:00:00Z', { decisionCountMax: 100 })
  t.notOk(page?.groups.some(({ ruleId }) => ruleId === '(pruned)'))
})
