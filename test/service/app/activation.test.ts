import { pino } from 'pino'
import t from 'tap'
import { createActivation } from '../../../src/service/app/activation.ts'
import { readRuleFiles } from '../../../src/service/app/rule-files.ts'
import type { RuleTable } from '../../../src/service/decide/rules/table.ts'
import { listActivations } from '../../../src/service/store/read/read-archive.ts'
import { announceReplica } from '../../../src/service/store/write/announce-replica.ts'
import { archiveRevisions } from '../../../src/service/store/write/archive-revisions.ts'
import { openDatabase } from '../store/fixtures.ts'

const { pool, client } = await openDatabase(t)
const ruleFiles = await readRuleFiles()

/** A replica with this rule table. `decide` stands for the commit of its next batch. */
function aReplica(ruleTable: RuleTable, monotonicMs = () => 0) {
  const lines: string[] = []
  const log = pino({ level: 'info' }, { write: (line) => void lines.push(JSON.parse(line).msg) })
  const commit = { gitCommit: null, gitSubject: null }
  const describeChange = async () => ({ changes: [] })
  const activation = createActivation(
    pool,
    { ...ruleFiles, ruleTable },
    commit,
    describeChange,
    log,
    monotonicMs,
  )
  const decide = () => {
    activation.begin()
    return activation.settled()
  }
  return { decide, lines }
}

t.test('a rule table that could not be recorded as in force is recorded by the next batch', async (t) => {
  const { ruleTable } = ruleFiles
  const { decide, lines } = aReplica(ruleTable)
  // Only an archived table can be in force.
  await decide()
  await archiveRevisions(pool, ruleTable, [])
  await decide()
  await decide()
  t.strictSame(lines, [
    'the rule table in force could not be recorded; the next batch tries again',
    'a rule table is in force for the first time',
  ])
})

t.test('a rule table is in force again once no replica runs the one recorded after it', async (t) => {
  await client.query('TRUNCATE notifications.rule_table_activation')
  const earlier = { ...ruleFiles.ruleTable, revision: 'earlier' }
  const later = { ...ruleFiles.ruleTable, revision: 'later' }
  const isInForce = async (...revisions: string[]) =>
    t.strictSame(
      (await listActivations(pool)).map(({ revision }) => revision),
      revisions,
    )
  for (const table of [earlier, later]) {
    await archiveRevisions(pool, table, [])
    const replica = {
      id: crypto.randomUUID(),
      groupId: 'ours',
      topics: [],
      ruleTableRevision: table.revision,
    }
    await announceReplica(pool, replica, null)
  }
  let nowMs = 0
  const ending = aReplica(earlier)
  const staying = aReplica(later, () => nowMs)
  await staying.decide()
  await ending.decide()
  await isInForce('later', 'earlier')

  nowMs += 60_000
  await staying.decide()
  await isInForce('later', 'earlier')

  await client.query(`UPDATE notifications.replica SET seen_at = now() - interval '3 minutes'`)
  nowMs += 59_999
  await staying.decide()
  await isInForce('later', 'earlier')
  nowMs += 1
  await staying.decide()
  await isInForce('later', 'earlier', 'later')
})
