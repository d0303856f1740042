import t, { type Test } from 'tap'
import { DECISION_COUNT_MAX, findEntries } from '../../../src/operations/erase/erase-entries.ts'
import { createSearch } from '../../../src/operations/erase/find-mention.ts'
import { namesQuery } from '../../../src/operations/log/search-log.ts'
import { beginPruning, prune } from '../../../src/operations/prune/prune-rows.ts'
import { PREVIEW_COUNT_MAX, previewRequest } from '../../../src/operations/requests/preview-request.ts'
import { loadEnvelopeMaps } from '../../../src/service/decide/event/envelope-map.ts'
import type { DatabasePool } from '../../../src/service/store/connection/pool.ts'
import { findEventTypes, listEventTypes } from '../../../src/service/store/read/event-types.ts'
import { listDueEntries } from '../../../src/service/store/read/list-due-entries.ts'
import {
  ALL_REJECTED,
  countRejectedMessages,
  listRejected,
  readRejectedPage,
} from '../../../src/service/store/read/list-rejected-messages.ts'
import { listPreferenceChanges } from '../../../src/service/store/read/read-preferences.ts'
import { listRetryCandidates } from '../../../src/service/store/read/read-retry-candidates.ts'
import { dismissPage } from '../../../src/service/store/write/dismiss-page.ts'
import { lockEntries } from '../../../src/service/store/write/lock-entries.ts'
import { addRequest, takeRequest } from '../../../src/service/store/write/request-row.ts'
import { explaining, type Reads } from './explain.ts'
import { LIMITS, openDatabase } from './fixtures.ts'
import { fillMisled, fillMisledRejected, MISLEADING, ROW_COUNT } from './misled-log.ts'

// Tasks that go through a table page by page: each statement reads what its page bounds, whatever the planner expects.

const { pool, client } = await openDatabase(t)
const REJECTED_COUNT = ROW_COUNT / 4
await fillMisled(client, ROW_COUNT / 2)
await fillMisledRejected(client, REJECTED_COUNT)

await client.query(`
  INSERT INTO notifications.preference_change (id, party_locator, after)
    SELECT n, 'party-1', '{"email": null, "phone": null, "preferredChannel": "EMAIL", "optedOutEvents": []}' FROM generate_series(1, 20000) AS n`)

const { rows: named } = await client.query(
  `SELECT locator FROM notifications.notification_log WHERE status = 'FAILED' ORDER BY locator LIMIT 1000`,
)
const locators: readonly string[] = named.map(({ locator }) => locator)
const open = { ...ALL_REJECTED, open: true, kept: true }
const rare = { ...ALL_REJECTED, code: 'no-such' }
const now = '2026-06-01T00:00:00.000000Z'
const middle = { createdAt: '2026-01-01T00:01:40.000000Z', locator: '' }
const everyRetry = { kind: 'retry', target: { filter: { from: middle.createdAt, to: now } } } as const
const DUE = { maxAgeMs: 1e12, attemptCountMax: 3, minPauseMs: 0 }
const MAPS = loadEnvelopeMaps('{"partyLocator": "/party", "locator": "/claim", "reason": "/reason"}')
const everyMessage = { filter: { upTo: String(REJECTED_COUNT) } }

/** Tasks, and rows that each of their statements may read. */
const TASKS: Readonly<
  Record<string, readonly [run: (pool: DatabasePool) => Promise<unknown>, readMax: number]>
> = {
  'rejected messages that are open': [(pool) => listRejected(pool, open, { limit: 50, after: null }), 11_500],
  'open messages in the middle': [(pool) => listRejected(pool, open, { limit: 50, after: 15_000n }), 11_500],
  'rejected messages of a rare code': [
    (pool) => listRejected(pool, rare, { limit: 50, after: null }),
    20_000,
  ],
  'open messages of a topic': [
    (pool) =>
      listRejected(pool, { ...open, topic: 'claims', code: 'no-such' }, { limit: 50, after: 15_000n }),
    21_500,
  ],
  'messages of a redrive of a topic': [
    (pool) => readRejectedPage(pool, { ...open, topic: 'claims' }, 15_000n, 100),
    13_000,
  ],
  'the number of open messages of a topic among the newest': [
    (pool) => countRejectedMessages(pool, { ...open, topic: 'claims' }, 1_000),
    4_000,
  ],
  'messages of a redrive': [(pool) => readRejectedPage(pool, open, 15_000n, 100), 13_000],
  'the number of open messages': [(pool) => countRejectedMessages(pool, open), 4 * REJECTED_COUNT],
  'the preview of a redrive': [
    (pool) => previewRequest(pool, LIMITS, { kind: 'redrive', target: everyMessage }, MAPS),
    12 * PREVIEW_COUNT_MAX,
  ],
  'the preview of a retry': [(pool) => previewRequest(pool, LIMITS, everyRetry, MAPS), 6_000],
  'a page of a retry by filter': [
    (pool) => listRetryCandidates(pool, LIMITS, everyRetry.target, null),
    6_000,
  ],
  'a page of a retry by locators': [(pool) => listRetryCandidates(pool, LIMITS, { locators }, null), 6_000],
  'due entries': [(pool) => listDueEntries(pool, DUE, middle, 500), 3_000],
  'failed entries that others have just tried': [
    (pool) => listDueEntries(pool, { ...DUE, minPauseMs: 1e13 }, null, 500),
    5_500,
  ],
  'changes of preferences, in the middle': [
    (pool) => listPreferenceChanges(pool, 'party-1', { limit: 200, after: 15_000n }),
    1_000,
  ],
  'the number of open messages among the newest': [(pool) => countRejectedMessages(pool, open, 1_000), 4_000],
  'a page of a retry, locked': [
    async (pool) => lockEntries(pool, (await listDueEntries(pool, DUE, middle, 500)).due, true),
    3_000,
  ],
  'decisions without a row': [
    async (pool) => {
      for await (const _ of findEntries(pool, createSearch('party-711', []), () => {}));
    },
    2 * DECISION_COUNT_MAX,
  ],
  'names that are searched': [(pool) => pool.any(namesQuery(['party-hot', 'CLM-hot', 'nobody'])), 500],
  'all event types, with their newest entries': [listEventTypes, 100],
  'event types that are logged': [(pool) => findEventTypes(pool, ['claim.paid', 'nothing']), 500],
}

t.test('pages of failed entries without a due one lead on to the end', async (t) => {
  const { due, next } = await listDueEntries(pool, { ...DUE, minPauseMs: 1e13 }, null, 500)
  t.strictSame(due, [])
  t.not(next, null)
  t.strictSame(await listDueEntries(pool, { ...DUE, minPauseMs: 1e13 }, next, 500), { due: [], next: null })
})

for (const [what, mislead] of Object.entries(MISLEADING)) {
  t.test(`with ${what}, each page reads its own rows`, async (t) => {
    await mislead(client)
    for (const [task, [run, readMax]] of Object.entries(TASKS)) {
      const seen: Reads[] = []
      await run(explaining(pool, (reads) => seen.push(reads)))
      report(t, task, seen, readMax)
    }
  })
}

for (const [index, [what, mislead]] of Object.entries(MISLEADING).entries()) {
  t.test(`with ${what}, a dismissal and prune read and delete their own rows`, async (t) => {
    await mislead(client)
    const seen: Reads[] = []
    const explained = explaining(pool, (reads) => seen.push(reads))
    const id = await addRequest(pool, { kind: 'dismiss', target: everyMessage }, 'o', 'junk')
    const position = String(REJECTED_COUNT - 1_000)
    await client.query('UPDATE notifications.request SET progress = to_jsonb($1::text) WHERE id = $2', [
      position,
      id,
    ])
    const taken = await takeRequest(pool, [], false)
    if (taken?.kind !== 'dismiss') throw new Error('the request is open')
    await dismissPage(explained, taken)
    await client.query('UPDATE notifications.request SET taken_until = NULL')
    report(t, 'a page of a dismissal', seen.splice(0), 10_000)
    const limits = { ...LIMITS, before: new Date(Date.UTC(2026, 0, 1, 0, 0, 4 * (index + 1))).toISOString() }
    const pruning = await beginPruning(pool, limits.before, 'o')
    for await (const _ of prune(explained, limits, pruning));
    report(t, 'prune', seen, 25_000)
  })
}

function report(t: Test, task: string, seen: readonly Reads[], readMax: number): void {
  t.ok(seen.length > 0)
  for (const { statement, read, blocks } of seen)
    t.ok(read <= readMax, `${task}: ${read} rows, ${blocks} blocks by ${statement.slice(0, 200)}`)
}
