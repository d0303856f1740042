import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { Worker } from 'node:worker_threads'
import { templates } from '#generated/templates.ts'
import type { Config } from '../../config/config.ts'
import type { BacktestJob, BacktestMessage } from '../../core/workbench/backtest-report.ts'
import type { Workbench } from '../../http/console/workbench.ts'
import { OUTCOMES, type RuleFiles, readText } from '../rule-files.ts'
import type { BacktestData } from './backtest-thread.ts'

/** Time limit of a back-test, pauses included, since only one runs at a time. */
const BACKTEST_MAX_MS = 120_000
/** Heap limit of the thread, unless Node was started with a limit. */
const HEAP_MB = 64
/** Utilization of the main thread from which dispatch counts as busy. */
const BUSY_UTILIZATION = 0.2
/** Length of a pause as a multiple of the work before it: while dispatch is busy, a back-test must leave it nine tenths. */
const PAUSE_FACTOR = 9
/** Well before the connection to the client counts as idle. */
const PAUSE_MAX_MS = 8_000

/** The files in force, and back-tests. Each back-test runs in its own thread, so that it does not delay dispatch. */
export function createWorkbench(
  {
    database,
    repositoryUrl,
  }: Pick<Config, 'repositoryUrl'> & { readonly database: Pick<Config['database'], 'url'> },
  { ruleTable, promises }: Pick<RuleFiles, 'ruleTable' | 'promises'>,
  backtestMaxMs = BACKTEST_MAX_MS,
): Workbench & { close: () => Promise<void> } {
  let worker: Worker | null = null
  const closing = new AbortController()

  async function* backtest(job: BacktestJob, signal: AbortSignal): AsyncGenerator<BacktestMessage> {
    const workerData: BacktestData = { databaseUrl: database.url, job }
    const started = new Worker(new URL('./backtest-thread.ts', import.meta.url), {
      workerData,
      resourceLimits: { maxOldGenerationSizeMb: HEAP_MB },
    })
    worker = started
    // An unhandled error event would end the process.
    started.on('error', () => {})
    try {
      const left = AbortSignal.any([signal, closing.signal])
      yield* paced(converse(started, AbortSignal.any([left, AbortSignal.timeout(backtestMaxMs)])), left)
    } catch (error) {
      const exceeded = exceededBy(error)
      if (exceeded === null) throw error
      const why =
        exceeded === 'time' ? `took longer than ${backtestMaxMs / 1_000} s` : 'needed too much memory'
      const problem =
        `The back-test was stopped: it ${why}. Ask for fewer days, or for a table with fewer event types; or use the ` +
        'command `rules backtest`, which has no limit.'
      yield { kind: 'problem', problem }
    } finally {
      await started.terminate()
      worker = null
    }
  }

  return {
    start: async () => ({
      table: ruleTable.source,
      promises,
      templates: [...templates.byEventType.values(), templates.generic].map(({ name, source }) => ({
        name: `${name}.mustache`,
        text: source,
      })),
      // The file may be missing, as for the summary of a pull request.
      outcomes: await readText(OUTCOMES).catch(() => ''),
      repositoryUrl,
    }),
    backtest: (job, signal) => (worker === null ? backtest(job, signal) : null),
    // A caller that abandons its generator never ends the job.
    close: async () => {
      closing.abort()
      await worker?.terminate()
    },
  }
}

/** The messages of the thread, which continues when the next one is requested. */
async function* converse(worker: Worker, signal: AbortSignal): AsyncGenerator<BacktestMessage> {
  for (;;) {
    const [message] = (await once(worker, 'message', { signal })) as [BacktestMessage]
    yield message
    if (message.kind !== 'progress') return
    worker.postMessage(null)
  }
}

/** The limit that a back-test exceeded; null for any other error. */
function exceededBy(error: unknown): 'time' | 'memory' | null {
  const { cause, code } = error as NodeJS.ErrnoException & { cause?: Error }
  if (cause?.name === 'TimeoutError') return 'time'
  return code === 'ERR_WORKER_OUT_OF_MEMORY' ? 'memory' : null
}

/** Asks for the next page at once while dispatch is idle, else after a pause. */
async function* paced(
  messages: AsyncIterable<BacktestMessage>,
  signal: AbortSignal,
): AsyncGenerator<BacktestMessage> {
  // The first page comes once the thread has started, which is no database work.
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
