// SEED=… CYCLES=… REPLICAS=… BROKERS=… node test/chaos/main.ts
// Seeded faults on real processes, and a checker that recomputes the truth from the input alone. Exits 1 where the
// service wrote anything else, and says how to see it again.

import { randomInt } from 'node:crypto'
import { fileURLToPath } from 'node:url'
import { endWithSignals, numberFrom } from '../stack/environment.ts'
import { type ChaosReport, runChaos } from './run.ts'
import type { PoolMode } from './stack.ts'

const VIOLATION_COUNT_SHOWN = 20

endWithSignals()

const seed = numberFrom('SEED', randomInt(1_000_000), 0)
const cycleCount = numberFrom('CYCLES', 10)
const replicaCount = numberFrom('REPLICAS', 2)
const brokerCount = numberFrom('BROKERS', 1)
const poolMode = poolModeFrom(process.env.POOLER)
const again =
  `make chaos SEED=${seed} CYCLES=${cycleCount} REPLICAS=${replicaCount} BROKERS=${brokerCount}` +
  (poolMode === null ? '' : ` POOLER=${poolMode}`)
const logDir = fileURLToPath(new URL(`../../.cache/chaos/${seed}/`, import.meta.url))
console.log(`${again}; logs in ${logDir}`)
const startedMs = performance.now()
const report = await runChaos({
  seed,
  cycleCount,
  replicaCount,
  brokerCount,
  poolMode,
  logDir,
  log: console.log,
}).catch((error) => {
  console.error(error)
  console.error(`the run itself failed; to see it again: ${again}`)
  process.exit(2)
})
console.log(describe(report, (performance.now() - startedMs) / 1_000))
process.exit(report.violations.length === 0 ? 0 : 1)

function describe(report: ChaosReport, seconds: number): string {
  const faults = Object.entries(report.faultCounts).map(([kind, count]) => `  ${kind}: ${count}`)
  const byInvariant = Map.groupBy(report.violations, ({ invariant }) => invariant)
  const violations = [...byInvariant].flatMap(([invariant, found]) => [
    `VIOLATED: ${invariant} (${found.length})`,
    ...found.slice(0, VIOLATION_COUNT_SHOWN).map(({ what }) => `  ${what}`),
  ])
  return [
    `${report.messageCount} messages became ${report.rowCount} rows and ${report.rejectedCount} rejected messages in ` +
      `${seconds.toFixed(0)} s; ${report.retryCount} retries; ${report.repeatedSendCount} messages sent again, by the same key; ` +
      `${report.requestedCount} attempts by request, ${report.secondTableCount} by the second rule table; ` +
      `${report.redrivenCount} redriven, ${report.dismissedCount} dismissed, ${report.prunedCount} pruned; ` +
      `${report.erasedCount} decisions erased by ${report.erasureCount} erasures; ` +
      `${report.storedCount} of ${report.putCount} PUTs of preferences answered; ` +
      `the slowest catch-up took ${(report.slowestCatchUpMs / 1_000).toFixed(1)} s`,
    'faults:',
    ...faults,
    ...(report.missedCount === 0 ? [] : [`  found nothing to strike: ${report.missedCount}`]),
    ...(violations.length === 0
      ? ['nothing lost, nothing twice']
      : [...violations, `to see it again: ${again}`]),
  ].join('\n')
}

function poolModeFrom(value = ''): PoolMode | null {
  if (value === '' || value === 'session' || value === 'transaction') return value || null
  console.error(`POOLER=${value} is not a pool mode of PgBouncer: session or transaction`)
  process.exit(2)
}
