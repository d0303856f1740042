import { until } from '../stack/until.ts'
import { type Checked, check, type InjectedFault, type Stage, type Violation } from './check.ts'
import { inject } from './inject.ts'
import { publishAll, Records } from './input.ts'
import { createLoad } from './load.ts'
import { People } from './people.ts'
import { Register } from './register.ts'
import { createSchedule, type Fault } from './schedule.ts'
import { readSnapshot } from './snapshot.ts'
import { PARTITION_COUNT, type Stack, type StackOptions, startStack } from './stack.ts'
import { tableOf } from './tables.ts'

export interface ChaosOptions extends StackOptions {
  readonly seed: number
  readonly cycleCount: number
}

export type ChaosReport = Awaited<ReturnType<typeof runChaos>>

/** Far more than a session time-out, the longest back-off and a rebalance take together. */
const CATCH_UP_MS_MAX = 90_000
const RETRY_MS_MAX = 90_000
/** From the sends of a transaction to its COMMIT. */
const COMMIT_MS_MAX = 5_000
/** Longer than any pause between retries. */
const RETRY_PAUSE = '1 hour'

/** Works cycle after cycle with faults by the seed, and checks what the service wrote after each. Stops at the first violation. */
export async function runChaos(options: ChaosOptions) {
  const stack = await startStack(options)
  try {
    return await runCycles(stack, options)
  } finally {
    await stack.close()
  }
}

async function runCycles(stack: Stack, { seed, cycleCount, replicaCount, log }: ChaosOptions) {
  const { withDatabase, replicas, policyAdministration, sends } = stack
  const records = new Records(stack.brokers, Object.values(stack.topics))
  const nextPlan = createSchedule(seed, replicaCount)
  const nextLoad = createLoad(seed, PARTITION_COUNT)
  const register = new Register(seed, () => replicas.map((replica) => replica.url()))
  const { puts, reads } = register
  const people = new People(seed, stack)
  const { erasures } = people
  const struck: InjectedFault[] = []
  const violations: (Violation | { invariant: 'processes end in order'; what: string })[] = []
  let missedCount = 0
  let messageCount = 0
  let slowestCatchUpMs = 0
  let checked: Checked | null = null

  async function strike(faults: readonly Fault[]): Promise<void> {
    const all = await Promise.all(faults.map((fault) => inject(stack, fault)))
    struck.push(...all.filter((fault) => fault !== null))
    missedCount += all.filter((fault) => fault === null).length
  }

  /** Waits until all that is published is consumed; the violations show where a wait hangs. Returns its duration. */
  async function catchUp(): Promise<number> {
    const startedMs = performance.now()
    const ends = await records.endsNow()
    const isDone = async () => (await stack.backlog(ends)) === 0
    await until(isDone, { what: 'all to be consumed', timeoutMs: CATCH_UP_MS_MAX }).catch(() => {})
    return performance.now() - startedMs
  }

  /** Retries are due after a pause: the rows are aged instead, and a process that starts begins with them. */
  async function settle(): Promise<void> {
    await withDatabase((client) =>
      client.query(`UPDATE notifications.notification_log
        SET last_attempt_at = now() - interval '${RETRY_PAUSE}' WHERE status = 'FAILED'`),
    )
    await replicas[0]?.stop()
    await replicas[0]?.start()
    const isDone = () =>
      withDatabase(async (client) => {
        const { rowCount } = await client.query(`
          SELECT FROM notifications.notification_log
          WHERE status = 'FAILED'
            AND (party_locator !~ '^(error|malformed)-' OR last_attempt_at < now() - interval '${RETRY_PAUSE}')
          UNION ALL SELECT FROM notifications.request WHERE ended_at IS NULL
          LIMIT 1`)
        return rowCount === 0
      })
    await until(isDone, { what: 'the retries', timeoutMs: RETRY_MS_MAX }).catch(() => {})
  }

  async function checkAt(stage: Stage): Promise<Checked> {
    const committedUntilMs = stage === 'settled' ? Number.POSITIVE_INFINITY : Date.now() - COMMIT_MS_MAX
    const snapshot = await until(() => withDatabase(readSnapshot), { what: 'a snapshot of the database' })
    await records.readOn()
    const evidence = {
      answers: policyAdministration.answers,
      sends,
      committedUntilMs,
      faults: struck,
      puts,
      reads,
      erasures,
      runs: replicas.flatMap(({ runs }) => runs),
    }
    const found = { records: records.all, ends: records.ends, snapshot, evidence }
    violations.push(
      ...check(found, stage),
      ...replicas.flatMap(({ faults }) =>
        faults.map((what) => ({ invariant: 'processes end in order' as const, what })),
      ),
    )
    return found
  }

  for (let cycle = 1; cycle <= cycleCount && violations.length === 0; cycle++) {
    const plan = nextPlan()
    const [count] = await register.during(
      Promise.all([publishAll(stack, nextLoad()), strike(plan.faults), people.act()]),
    )
    messageCount += count
    const settles = plan.settles || cycle === cycleCount
    const caughtUpMs = settles ? await catchUp() : 0
    slowestCatchUpMs = Math.max(slowestCatchUpMs, caughtUpMs)
    checked = await checkAt(settles ? 'caught up' : 'running')
    const kinds = plan.faults.map(({ kind, replica }) =>
      replica === null ? kind : `${kind} (${replica + 1})`,
    )
    const end = settles ? `caught up in ${(caughtUpMs / 1_000).toFixed(1)} s` : 'goes on'
    log(
      `cycle ${cycle}/${cycleCount}: ${kinds.join(', ') || 'no fault'}; ${count} messages, ${end}, ` +
        `${checked.snapshot.log.length} rows, ${violations.length} violations`,
    )
  }
  if (violations.length === 0) {
    await settle()
    checked = await checkAt('settled')
  }
  const { log: rows = [], rejected = [], decisions = [], redrives = [], gone = [] } = checked?.snapshot ?? {}
  const byKind = Map.groupBy(struck, ({ kind }) => kind)
  return {
    messageCount,
    rowCount: rows.length,
    rejectedCount: rejected.length,
    /** Decisions that are not the first of their row. */
    retryCount: decisions.length - rows.length,
    faultCounts: Object.fromEntries([...byKind].map(([kind, { length }]) => [kind, length])),
    /** Messages that senders got again, after a transaction was interrupted or lost. */
    repeatedSendCount: sends.length - new Set(sends.map(({ key }) => key)).size,
    /** Attempts that people asked for. */
    requestedCount: decisions.filter(({ request_id }) => request_id !== null).length,
    secondTableCount: decisions.filter(({ rule_table_revision }) => tableOf(rule_table_revision) === 'second')
      .length,
    redrivenCount: redrives.filter(({ result }) => result === 'logged').length,
    dismissedCount: redrives.filter(({ result }) => result === 'dismissed').length,
    prunedCount: gone.length,
    erasedCount: decisions.filter(({ is_erased }) => is_erased).length,
    erasureCount: erasures.filter(({ endedMs }) => endedMs !== null).length,
    /** PUTs of preferences: all, and those that were answered. */
    putCount: puts.length,
    storedCount: puts.filter(({ answeredMs }) => answeredMs !== null).length,
    /** Faults that found nothing to strike. */
    missedCount,
    slowestCatchUpMs,
    violations,
    /** The subject of the last check. */
    checked,
  }
}
