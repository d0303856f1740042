import { once } from 'node:events'
import { setPriority } from 'node:os'
import { parentPort, workerData } from 'node:worker_threads'
import { createBacktest } from '../../core/rules/backtest.ts'
import { RuleTableError } from '../../core/rules/errors.ts'
import { createRuleCache, type RulesByRevision } from '../../core/why/archived-rules.ts'
import { type BacktestMessage, reportBacktest } from '../../core/workbench/backtest-report.ts'
import { isUnreachable } from '../../postgres/connection/errors.ts'
import { type DatabasePool, openPool } from '../../postgres/connection/pool.ts'
import { decisionGroups } from '../../postgres/read/group-decisions.ts'
import { readArchivedRuleTable } from '../../postgres/read/read-archive.ts'
import { timeAgo } from '../../postgres/read/time-ago.ts'
import { ruleTableOf, TEMPLATE_EVENT_TYPES } from '../policy.ts'

export interface BacktestJob {
  readonly table: string
  readonly days: number
}

const DAY_MS = 86_400_000
/** So few that the pause after a page, while dispatch is busy, is short. */
const PAGE_COUNT_MAX = 25_000
/** A tenth of the share of the other threads where there are too few processors for all; with the least it would starve. */
const PRIORITY = 10

// On Linux this is the priority of the calling thread alone; elsewhere it would be that of the process.
if (process.platform === 'linux') setPriority(PRIORITY)

parentPort?.once('message', async (job: BacktestJob) => {
  parentPort?.postMessage(await runToEnd(job))
})

async function runToEnd({ table, days }: BacktestJob): Promise<BacktestMessage> {
  let pool: DatabasePool | null = null
  try {
    const candidate = await ruleTableOf(table)
    pool = await openPool({ databaseUrl: workerData as string, connectionCountMax: 1, endWithClient: true })
    return await backtest(pool, candidate, days)
  } catch (error) {
    if (error instanceof RuleTableError) return { kind: 'faults', faults: error.faults }
    if (isUnreachable(error)) return { kind: 'problem', problem: 'The database did not respond.' }
    throw error
  } finally {
    await pool?.end()
  }
}

/** The loop of `rules backtest`. */
async function backtest(
  pool: DatabasePool,
  candidate: Parameters<typeof createBacktest>[0],
  days: number,
): Promise<BacktestMessage> {
  const rulesOf = createRuleCache((revision) => readArchivedRuleTable(pool, revision), TEMPLATE_EVENT_TYPES)
  let rules: RulesByRevision = new Map()
  const test = createBacktest(candidate, (revision, ruleId) => {
    const known = rules.get(revision)
    return typeof known === 'object' ? known.find(({ id }) => id === ruleId)?.reason : undefined
  })
  const since = await timeAgo(pool, days * DAY_MS)
  let seen = 0
  for await (const { events, groups } of decisionGroups(pool, since, PAGE_COUNT_MAX)) {
    rules = await rulesOf(groups)
    for (const group of groups) test.add(group)
    seen += events
    await say({ kind: 'progress', events: seen })
  }
  return { kind: 'report', since, report: reportBacktest(test.result()) }
}

/** Resolves when it is to go on. */
async function say(message: BacktestMessage): Promise<void> {
  const goOn = once(parentPort as NonNullable<typeof parentPort>, 'message')
  parentPort?.postMessage(message)
  await goOn
}
