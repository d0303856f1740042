import { until } from '../stack/until.ts'
import { type Checked, check, type InjectedFault, type Stage, type Violation } from './check.ts'
import { skipBomb } from './hostile-messages.ts'
import { inject } from './inject.ts'
import { createLoad } from './load.ts'
import { PARTITION_COUNT } from './places.ts'
import { publishAll } from './publisher.ts'
import { Records } from './records.ts'
import { createSchedule, type Fault, type FaultKind } from './schedule.ts'
import { readSnapshot } from './snapshot.ts'
import { type Stack, type StackOptions, startStack } from './stack.ts'

export interface ChaosOptions extends StackOptions {
  readonly seed: number
  readonly cycleCount: number
}

export interface ChaosReport {
  readonly cycleCount: number
  readonly messageCount: number
  readonly rowCount: number
  readonly rejectedCount: number
  /** Decisions that are not the first of their row. */
  readonly retryCount: number
  readonly faultCounts: Readonly<Partial<Record<FaultKind, number>>>
  /** Messages that senders were handed again, after a transaction was broken off or lost. */
  readonly repeatedSendCount: number
  /** Faults that found nothing to strike. */
  readonly missedCount: number
  readonly slowestCatchUpMs: number
  /** Empty: all is well. */
  readonly violations: readonly (Violation | { invariant: 'processes end in order'; what: string })[]
  /** What the last check looked at; null where there was none. */
  readonly checked: Checked | null
}

/** Far more than a session time-out, the longest back-off and a rebalance take together. */
const CATCH_UP_MS_MAX = 90_000
const RETRY_MS_MAX = 90_000
/** From the sends of a transaction to its COMMIT. */
const COMMIT_MS_MAX = 5_000
const RETRY_PAUSE = '1 minute'

/**
 * Works cycle after cycle with faults by the seed, and compares what the service has written with the truth after each.
 * Stops at the first cycle with a violation.
 */
export async function runChaos(options: ChaosOptions): Promise<ChaosReport> {
  const stack = await startStack(options)
  try {
    return await new Run(stack, options).run()
  } finally {
    await stack.close()
  }
}

class Run {
  readonly #stack: Stack
  readonly #options: ChaosOptions
  readonly #records: Records
  readonly #faults: InjectedFault[] = []
  readonly #violations: ChaosReport['violations'][number][] = []
  #missedCount = 0
  #messageCount = 0
  #slowestCatchUpMs = 0
  #checked: Checked | null = null

  constructor(stack: Stack, options: ChaosOptions) {
    this.#stack = stack
    this.#options = options
    this.#records = new Records(stack.kafka.brokers, Object.values(stack.topics))
  }

  async run(): Promise<ChaosReport> {
    const { seed, cycleCount, replicaCount } = this.#options
    const nextPlan = createSchedule(seed, replicaCount)
    const nextLoad = createLoad(seed, PARTITION_COUNT)
    for (let cycle = 1; cycle <= cycleCount && this.#violations.length === 0; cycle++) {
      const plan = nextPlan()
      const isLast = cycle === cycleCount
      const [count] = await Promise.all([publishAll(this.#stack, nextLoad()), this.#strike(plan.faults)])
      this.#messageCount += count
      await this.#skipAgain()
      const settles = plan.settles || isLast
      const caughtUpMs = settles ? await this.#catchUp() : null
      await this.#check(settles ? 'caught up' : 'running')
      this.#describe(cycle, plan.faults, count, caughtUpMs)
    }
    if (this.#violations.length === 0) await this.#settle()
    return this.#report()
  }

  /** A database that lags behind may have lost what was skipped in this cycle: its operator sees the partition blocked again. */
  async #skipAgain(): Promise<void> {
    for (const bomb of this.#stack.bombs.splice(0)) await skipBomb(this.#stack, bomb)
  }

  async #strike(faults: readonly Fault[]): Promise<void> {
    const struck = await Promise.all(faults.map((fault) => inject(this.#stack, fault)))
    for (const fault of struck) {
      if (fault === null) this.#missedCount++
      else this.#faults.push(fault)
    }
  }

  /** Waits until all that is published is consumed; returns how long that took. */
  async #catchUp(): Promise<number> {
    const startedMs = performance.now()
    const ends = await this.#records.endsNow()
    // The violations show where a wait hangs.
    await until(async () => (await this.#stack.backlog(ends)) === 0, {
      what: 'all to be consumed',
      timeoutMs: CATCH_UP_MS_MAX,
    }).catch(() => {})
    const tookMs = performance.now() - startedMs
    this.#slowestCatchUpMs = Math.max(this.#slowestCatchUpMs, tookMs)
    return tookMs
  }

  /** Retries are due once a minute: the rows are aged instead of waited for, and a process that starts begins with them. */
  async #settle(): Promise<void> {
    const { withDatabase, replicas } = this.#stack
    await withDatabase((client) =>
      client.query(`UPDATE notifications.notification_log
        SET last_attempt_at = now() - interval '${RETRY_PAUSE}' WHERE status = 'FAILED'`),
    )
    await replicas[0]?.stop()
    await replicas[0]?.start()
    await until(
      () =>
        withDatabase(async (client) => {
          const { rows } = await client.query(`
            SELECT FROM notifications.notification_log
            WHERE status = 'FAILED'
              AND (party_locator !~ '^(error|malformed)-' OR last_attempt_at < now() - interval '${RETRY_PAUSE}')
            LIMIT 1`)
          return rows.length === 0
        }),
      { what: 'the retries', timeoutMs: RETRY_MS_MAX },
    ).catch(() => {})
    await this.#check('settled')
  }

  async #check(stage: Stage): Promise<void> {
    const committedUntilMs = stage === 'settled' ? Number.POSITIVE_INFINITY : Date.now() - COMMIT_MS_MAX
    const snapshot = await until(() => this.#stack.withDatabase(readSnapshot), {
      what: 'a snapshot of the database',
    })
    await this.#records.readOn()
    const { policyAdministration, sends } = this.#stack
    const evidence = { answers: policyAdministration.answers, sends, committedUntilMs, faults: this.#faults }
    this.#checked = { records: this.#records.all(), ends: this.#records.ends, snapshot, evidence }
    this.#violations.push(
      ...check(this.#checked, stage),
      ...this.#stack.replicas.flatMap((replica) =>
        replica.faults.map((what) => ({ invariant: 'processes end in order' as const, what })),
      ),
    )
  }

  #describe(cycle: number, faults: readonly Fault[], count: number, caughtUpMs: number | null): void {
    const kinds = faults.map(({ kind, replica }) => (replica === null ? kind : `${kind} (${replica + 1})`))
    const end = caughtUpMs === null ? 'goes on' : `caught up in ${(caughtUpMs / 1_000).toFixed(1)} s`
    this.#options.log(
      `cycle ${cycle}/${this.#options.cycleCount}: ${kinds.join(', ') || 'no fault'}; ${count} messages, ${end}, ` +
        `${this.#checked?.snapshot.log.length} rows, ${this.#violations.length} violations`,
    )
  }

  #report(): ChaosReport {
    const { log = [], rejected = [], decisions = [] } = this.#checked?.snapshot ?? {}
    const byKind = Object.groupBy(this.#faults, ({ kind }) => kind)
    return {
      cycleCount: this.#options.cycleCount,
      messageCount: this.#messageCount,
      rowCount: log.length,
      rejectedCount: rejected.length,
      retryCount: decisions.length - log.length,
      faultCounts: Object.fromEntries(Object.entries(byKind).map(([kind, { length }]) => [kind, length])),
      repeatedSendCount: this.#stack.sends.length - new Set(this.#stack.sends.map(({ key }) => key)).size,
      missedCount: this.#missedCount,
      slowestCatchUpMs: this.#slowestCatchUpMs,
      violations: this.#violations,
      checked: this.#checked,
    }
  }
}
