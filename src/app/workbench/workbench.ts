import { setTimeout as sleep } from 'node:timers/promises'
import type { Config } from '../../config/config.ts'
import { CHANNELS } from '../../core/decision/channel.ts'
import { OUTCOMES } from '../../core/decision/decide.ts'
import { cellText, FACT_LIST } from '../../core/decision/facts.ts'
import { EXPECTATIONS, PROMISE_COLUMNS } from '../../core/rules/load-promises.ts'
import { COLUMNS } from '../../core/rules/rule.ts'
import type { BacktestMessage, Period } from '../../core/workbench/backtest-report.ts'
import { proposeUrlOf, readGrid, type WorkbenchStart } from '../../core/workbench/workbench.ts'
import type { Workbench } from '../../http/console/workbench.ts'
import { type RuleFiles, TEMPLATE_EVENT_TYPES } from '../rule-files.ts'
import type { BacktestJob } from './backtest-thread.ts'
import type { ReviewJob, ReviewMessage } from './review-thread.ts'
import { createThread } from './thread.ts'

/** While somebody types, the next candidate finds the thread running. */
const REVIEW_IDLE_MS = 60_000
/** Less than a request may take. A table that takes longer is not one that somebody wrote. */
const REVIEW_MAX_MS = 8_000
/** A place for others: one back-test runs at a time. Pauses count. */
const BACKTEST_MAX_MS = 120_000
/** From this part of its time on, the main thread is busy with dispatch. */
const BUSY_UTILIZATION = 0.2
/** While dispatch is busy a back-test pauses so many times as long as it works: it must leave dispatch nine tenths. */
const PAUSE_FACTOR = 9
/** Well before the connection to the client counts as idle. */
const PAUSE_MAX_MS = 8_000

/** The values that a column of either file can have. */
const CHOICES = {
  ...Object.fromEntries(FACT_LIST.map(([, { column, values }]) => [column, values.map(cellText)])),
  'send by': [...CHANNELS],
}

/** The checks and back-tests of the console's workbench. They run in their own threads, so that none holds up dispatch. */
export function createWorkbench(
  {
    database,
    repositoryUrl,
  }: Pick<Config, 'repositoryUrl'> & { readonly database: Pick<Config['database'], 'url'> },
  { ruleTable, promises }: RuleFiles,
  backtestMaxMs = BACKTEST_MAX_MS,
): Workbench & { close: () => Promise<void> } {
  const reviews = createThread<ReviewJob, ReviewMessage>(new URL('./review-thread.ts', import.meta.url), {
    workerData: { table: ruleTable.source, promises },
    idleMs: REVIEW_IDLE_MS,
    maxMs: REVIEW_MAX_MS,
    isLast: () => true,
  })
  const backtests = createThread<BacktestJob, BacktestMessage>(
    new URL('./backtest-thread.ts', import.meta.url),
    {
      workerData: database.url,
      idleMs: 0,
      maxMs: backtestMaxMs,
      isLast: ({ kind }) => kind !== 'progress',
    },
  )

  /** Null where it takes too long. */
  async function ask(job: ReviewJob, signal: AbortSignal): Promise<ReviewMessage | null> {
    try {
      for await (const message of reviews.run(job, signal)) return message
      return null
    } catch (error) {
      if (exceededBy(error) !== null) return null
      throw error
    }
  }

  /** Ends with a problem where a limit is exceeded. */
  async function* backtest(
    table: string,
    period: Period,
    signal: AbortSignal,
  ): AsyncGenerator<BacktestMessage> {
    try {
      yield* paced(backtests.run({ table, period }, signal), signal)
    } catch (error) {
      const exceeded = exceededBy(error)
      if (exceeded === null) throw error
      const why =
        exceeded === 'time' ? `took longer than ${backtestMaxMs / 1_000} s` : 'needed too much memory'
      const problem =
        `The back-test was stopped: it ${why}. Ask for fewer days, or for a table with fewer event types; or use the ` +
        'command `rules backtest`, which has no limit.'
      yield { kind: 'problem', problem }
    }
  }

  const start = startOf(ruleTable.source, promises, ruleTable.revision, repositoryUrl)
  return {
    start,
    read: async (csv, of, signal) => {
      const sheet = { csv, columns: start[of].grid.columns, what: of === 'table' ? 'rule' : 'promise' }
      return (await ask({ sheet }, signal))?.read ?? null
    },
    review: async (candidate, signal) => (await ask({ candidate }, signal))?.review ?? null,
    try: async (table, of, signal) => {
      const message = await ask({ trial: { table, of } }, signal)
      return message && { tried: message.tried ?? null, faults: [...(message.faults ?? [])] }
    },
    backtest: (table, period, signal) => (backtests.isBusy() ? null : backtest(table, period, signal)),
    close: async () => {
      await Promise.all([reviews.close(), backtests.close()])
    },
  }
}

/** The limit that a job of a thread exceeded; null for any other error. */
function exceededBy(error: unknown): 'time' | 'memory' | null {
  const { cause, code } = error as NodeJS.ErrnoException & { cause?: Error }
  if (cause?.name === 'TimeoutError') return 'time'
  return code === 'ERR_WORKER_OUT_OF_MEMORY' ? 'memory' : null
}

/** Asks for the next page at once while dispatch has little to do, else after a pause. */
async function* paced(
  messages: AsyncIterable<BacktestMessage>,
  signal: AbortSignal,
): AsyncGenerator<BacktestMessage> {
  // The first page comes once the thread has started, which is no work of the database.
  let sinceMs = Number.POSITIVE_INFINITY
  let since = performance.eventLoopUtilization()
  for await (const message of messages) {
    const tookMs = Math.max(performance.now() - sinceMs, 0)
    const { utilization } = performance.eventLoopUtilization(since)
    yield message
    if (message.kind === 'progress' && utilization > BUSY_UTILIZATION)
      await sleep(Math.min(PAUSE_FACTOR * tookMs, PAUSE_MAX_MS), undefined, { signal })
    sinceMs = performance.now()
    since = performance.eventLoopUtilization()
  }
}

function startOf(
  table: string,
  promises: string,
  revision: string,
  repositoryUrl: string | null,
): WorkbenchStart {
  const fileOf = (
    name: string,
    csvText: string,
    columns: readonly string[],
    what: string,
    outcomes: readonly string[],
  ) => {
    const { grid, faults } = readGrid(csvText, columns, what)
    if (grid === null) throw new Error(`${name} cannot be shown as a grid: ${faults.join('; ')}`)
    return { name, grid, choices: { ...CHOICES, outcome: [...outcomes] } }
  }
  return {
    revision,
    table: fileOf('dispatch.csv', table, COLUMNS, 'rule', OUTCOMES),
    promises: fileOf('promises.csv', promises, PROMISE_COLUMNS, 'promise', EXPECTATIONS),
    proposeUrl: repositoryUrl && proposeUrlOf(repositoryUrl, 'rules'),
    eventTypes: [...TEMPLATE_EVENT_TYPES],
  }
}
