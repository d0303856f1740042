import pg from 'pg'
import t from 'tap'
import { beginErasure } from '../../../../src/operations/erase/erasure-record.ts'
import { migrate } from '../../../../src/operations/migrate/apply-migrations.ts'
import { beginPruning } from '../../../../src/operations/prune/prune-rows.ts'
import { openPool } from '../../../../src/service/store/connection/pool.ts'
import { ALL_REJECTED, listRejected } from '../../../../src/service/store/read/list-rejected-messages.ts'
import {
  listPreferenceChanges,
  readPreferences,
} from '../../../../src/service/store/read/read-preferences.ts'
import { activateRuleTable } from '../../../../src/service/store/write/activate-rule-table.ts'
import { archiveRevisions } from '../../../../src/service/store/write/archive-revisions.ts'
import { insertRejectedMessages } from '../../../../src/service/store/write/insert-rejected-messages.ts'
import { putPreferences } from '../../../../src/service/store/write/put-preferences.ts'
import { recordRedrive } from '../../../../src/service/store/write/record-redrive.ts'
import { addRequest } from '../../../../src/service/store/write/request-row.ts'
import { createMigratedDatabase } from '../../../stack/databases.ts'
import { startPostgres } from '../../../stack/postgres.ts'
import { until } from '../../../stack/until.ts'

/** Rows of each table with ids of its own; `n` tells one round from the next. */
async function writeAll(pool: Awaited<ReturnType<typeof openPool>>, n: number) {
  const message = { offset: BigInt(n), key: null, value: Buffer.from(`message ${n}`), headers: {} }
  const rejection = { code: 'not-json', error: 'not JSON' } as const
  await insertRejectedMessages(pool, { topic: 'claims', partition: 0 }, [{ message, rejection }])
  const optedOutEvents = [`claim.${n}`]
  await putPreferences(
    pool,
    'party-1',
    { email: null, phone: null, preferredChannel: 'SMS', optedOutEvents },
    null,
  )
  const { items } = await listRejected(pool, ALL_REJECTED, { limit: 1, after: null })
  const rejected = items[0]?.id ?? 0n
  await recordRedrive(pool, rejected, 'alice', { result: 'duplicate' })
  const target = { kind: 'dismiss', target: { ids: [String(rejected)] } } as const
  const request = await addRequest(pool, target, 'alice', 'seen')
  await beginErasure(pool, 'party-1', 'alice')
  await beginPruning(pool, '2020-01-01T00:00:00Z', 'alice')
  await archiveRevisions(pool, { revision: `table ${n}`, source: 'a table' }, [])
  await activateRuleTable(pool, `table ${n}`, NO_COMMIT)
  return { rejected, request }
}

const NO_COMMIT = { gitCommit: null, gitSubject: null }
const server = await startPostgres()
t.teardown(() => server.close())
const admin = async (url: string, ...statements: string[]) => {
  const client = new pg.Client(url)
  await client.connect()
  const results = []
  for (const statement of statements) results.push(await client.query(statement))
  await client.end()
  return results.at(-1)?.rows ?? []
}

t.test('a database that was moved by logical replication accepts rows at once, in order', async (t) => {
  await admin(server.url, 'ALTER SYSTEM SET wal_level = logical')
  await server.stop()
  await server.start()
  const [blue, green] = [await createMigratedDatabase(server.url), await createMigratedDatabase(server.url)]
  const from = await openPool({ databaseUrl: blue.url, connectionCountMax: 2 })
  let last = await writeAll(from, 0)
  for (let n = 1; n < 10; n++) last = await writeAll(from, n)
  await from.end()
  // Both databases are on one server, so that the slot has to be there first.
  await admin(
    blue.url,
    'CREATE PUBLICATION everything FOR TABLES IN SCHEMA notifications',
    `SELECT pg_create_logical_replication_slot('moved', 'pgoutput')`,
  )
  await admin(
    green.url,
    // As after `pg_dump -s`, which copies no rows and no state of a sequence.
    'TRUNCATE notifications.migration, notifications.database_identity',
    'ALTER SEQUENCE notifications.migration_id_seq RESTART',
    'ALTER SEQUENCE notifications.id_counter RESTART',
    `CREATE SUBSCRIPTION moved CONNECTION '${blue.url}' PUBLICATION everything WITH (create_slot = false, slot_name = 'moved')`,
  )
  const copied = async () =>
    (await admin(green.url, `SELECT FROM pg_subscription_rel WHERE srsubstate <> 'r'`)).length === 0
  await until(copied, { what: 'all rows to be copied' })
  await admin(green.url, 'ALTER SUBSCRIPTION moved DISABLE', 'DROP SUBSCRIPTION moved')

  const pool = await openPool({ databaseUrl: green.url, connectionCountMax: 2 })
  t.teardown(() => pool.end())
  for (let n = 10; n < 13; n++) {
    const before = (await readPreferences(pool, ['party-1'])).get('party-1')?.changeId
    const next = await writeAll(pool, n)
    t.ok(next.rejected > last.rejected, 'the newest message is listed first')
    t.ok(BigInt(next.request) > BigInt(last.request))
    t.not(
      (await readPreferences(pool, ['party-1'])).get('party-1')?.changeId,
      before,
      'dispatch notices the change',
    )
    t.match((await listPreferenceChanges(pool, 'party-1', { limit: 1, after: null })).items, [
      { after: { optedOutEvents: [`claim.${n}`] } },
    ])
    t.equal(await activateRuleTable(pool, `table ${n}`, NO_COMMIT), null, 'the last activation counts')
    last = next
  }
  // A later version brings a migration.
  await admin(green.url, `DELETE FROM notifications.migration WHERE name = '0009_recorded_only'`)
  await admin(green.url, 'ALTER TABLE notifications.decision DROP COLUMN recorded_only')
  t.strictSame(await migrate(green.url, { info: () => {} }), ['0009_recorded_only'])
})
