import t from 'tap'
import { listActivations } from '../../../../src/service/store/read/read-archive.ts'
import { activateRuleTable } from '../../../../src/service/store/write/activate-rule-table.ts'
import { archiveRevisions } from '../../../../src/service/store/write/archive-revisions.ts'
import { ADVISORY_LOCK_WAITS } from '../../../stack/databases.ts'
import { until } from '../../../stack/until.ts'
import { openDatabase } from '../fixtures.ts'

const { pool, client } = await openDatabase(t)
/** The lock of src/service/store/sql/advisory-locks.ts. It never changes: replicas of different versions share it. */
const ACTIVATION_LOCK = 4_006_003
const commit = (gitCommit: string | null, gitSubject: string | null = null) => ({ gitCommit, gitSubject })
const FIRST = { revision: 'a', source: 'the first table' }
const SECOND = { revision: 'b', source: 'the second table' }
t.before(async () => {
  for (const table of [FIRST, SECOND]) await archiveRevisions(pool, table, [])
})
t.beforeEach(async () => {
  await client.query('TRUNCATE notifications.rule_table_activation')
})

t.test('a start activates a table only if another one was in force', async (t) => {
  t.strictSame(await activateRuleTable(pool, 'a', commit(null)), { before: null })
  t.equal(await activateRuleTable(pool, 'a', commit('c0ffee0')), null)
  t.match(await activateRuleTable(pool, 'b', commit('c0ffee1', 'Mute invoices (#7)')), { before: FIRST })
  t.match(await activateRuleTable(pool, 'a', commit('c0ffee2')), { before: SECOND })
  const activations = await listActivations(pool)
  t.match(activations, [
    { revision: 'a', gitCommit: null, gitSubject: null, activatedAt: /^\d{4}-.*\.\d{6}Z$/ },
    { revision: 'b', gitCommit: 'c0ffee1', gitSubject: 'Mute invoices (#7)' },
    { revision: 'a', gitCommit: 'c0ffee2', gitSubject: null },
  ])
  t.equal(activations.length, 3)
})

t.test('one of several replicas that start together activates the table, and the others wait', async (t) => {
  await activateRuleTable(pool, 'a', commit(null))
  await client.query('SELECT pg_advisory_lock($1)', [ACTIVATION_LOCK])
  const all = Promise.all(Array.from({ length: 5 }, () => activateRuleTable(pool, 'b', commit(null))))
  await until(async () => (await client.query(ADVISORY_LOCK_WAITS)).rowCount === 5, {
    what: 'all to wait for the lock',
  })
  await client.query('SELECT pg_advisory_unlock($1)', [ACTIVATION_LOCK])
  t.match(
    (await all).filter((activation) => activation !== null),
    [{ before: FIRST }],
  )
  t.equal((await listActivations(pool)).length, 2)
})
