import pg from 'pg'
import t from 'tap'
import { commitBatch } from '../../../src/pipeline/dispatch.ts'
import { commitRetries } from '../../../src/pipeline/retry.ts'
import { listDueEntries } from '../../../src/postgres/read/list-due-entries.ts'
import { loadCheckpoint } from '../../../src/postgres/write/checkpoints.ts'
import { createStore } from '../../../src/postgres/write/store.ts'
import { anOpenAttempt, FOUND, recordingSend, UNRESOLVED } from '../../core/attempt/build.ts'
import { aLookedUpBatch, makeAttempts } from '../../pipeline/store.contract.ts'
import { openDatabase } from '../fixtures.ts'

const { pool } = await openDatabase(t)
const attempt = makeAttempts(createStore(pool), recordingSend().send)
await loadCheckpoint(pool, 'claims', 0)

/** The beginning of each statement that `run` sends, one per round trip. */
async function statementsOf(run: () => Promise<unknown>): Promise<readonly string[]> {
  const statements: string[] = []
  const { query } = pg.Client.prototype
  pg.Client.prototype.query = function (this: pg.Client, ...args: unknown[]) {
    const [first] = args as [string | { text: string }]
    statements.push((typeof first === 'string' ? first : first.text).trim().replace(/\s+/g, ' '))
    return (query as (...args: unknown[]) => unknown).apply(this, args)
  } as typeof query
  await run().finally(() => {
    pg.Client.prototype.query = query
  })
  return statements
}

t.test('a batch without rejected messages takes six round trips', async (t) => {
  const open = [anOpenAttempt('a'), anOpenAttempt('b', { contact: UNRESOLVED })]
  const statements = await statementsOf(() => commitBatch({ attempt }, aLookedUpBatch(open)))
  t.match(statements, [
    /^START TRANSACTION/,
    /^SELECT "offset" FROM notifications.projection_checkpoints .* FOR UPDATE/,
    /FROM notifications.notification_preferences/,
    /^INSERT INTO notifications.notification_log/,
    /^WITH recorded AS \( INSERT INTO notifications.decision .* UPDATE notifications.projection_checkpoints/,
    /^COMMIT/,
  ])
  t.equal(statements.length, 6)
})

t.test('a batch without new events takes four round trips', async (t) => {
  const batch = aLookedUpBatch([], { expectedCheckpoint: 1n, lastOffset: 2n })
  t.equal((await statementsOf(() => commitBatch({ attempt }, batch))).length, 4)
})

t.test('a page of retries takes six round trips, however many rows it has', async (t) => {
  const limits = { maxAgeMs: 3_600_000, attemptCountMax: 3, minPauseMs: -3_600_000 }
  const { due } = await listDueEntries(pool, limits, null, 10)
  const asked = due.map((entry) => ({ due: entry, contact: FOUND }))
  const statements = await statementsOf(() => commitRetries(attempt, asked, null))
  t.match(statements, [/^START/, /FOR UPDATE/, /preferences/, /^UPDATE/, /^INSERT .*decision/, /^COMMIT/])
  t.equal(statements.length, 6)
})
