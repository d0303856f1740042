import { pino } from 'pino'
import t from 'tap'
import { createActivation } from '../../../src/service/app/activation.ts'
import { readRuleFiles } from '../../../src/service/app/rule-files.ts'
import { archiveRevisions } from '../../../src/service/store/write/archive-revisions.ts'
import { openDatabase } from '../store/fixtures.ts'

const { pool } = await openDatabase(t)

t.test('a rule table that could not be recorded as in force is recorded by the next batch', async (t) => {
  const lines: string[] = []
  const log = pino({ level: 'info' }, { write: (line) => void lines.push(JSON.parse(line).msg) })
  const ruleFiles = await readRuleFiles()
  const commit = { gitCommit: null, gitSubject: null }
  const activation = createActivation(pool, ruleFiles, commit, async () => ({ changes: [] }), log)
  const decideBatch = () => {
    activation.begin()
    return activation.settled()
  }
  // Only an archived table can be in force.
  await decideBatch()
  await archiveRevisions(pool, ruleFiles.ruleTable, [])
  await decideBatch()
  await decideBatch()
  t.strictSame(lines, [
    'the rule table in force could not be recorded; the next batch tries again',
    'a rule table is in force for the first time',
  ])
})
