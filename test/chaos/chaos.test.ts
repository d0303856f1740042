import t from 'tap'
import { runChaos } from './run.ts'

// By this seed look-ups fail, the database crashes, a process is killed and a reply to COMMIT lost. `make chaos` does more.
const SKIP_MOCK = process.env.KAFKA_KIND === 'mock' && 'the mock broker cannot be started again'

t.test('two cycles of faults lose nothing, and double nothing', { skip: SKIP_MOCK }, async (t) => {
  const report = await runChaos({
    seed: 31,
    cycleCount: 2,
    replicaCount: 2,
    logDir: t.testdir(),
    log: (line) => t.comment(line),
  })
  t.same(report.violations, [])
  t.ok(report.rowCount > 0 && report.rejectedCount > 0 && Object.keys(report.faultCounts).length > 0)
})
