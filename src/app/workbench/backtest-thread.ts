import { once } from 'node:events'
import { setPriority } from 'node:os'
import { parentPort, workerData } from 'node:worker_threads'
import { RuleTableError } from '../../core/rules/errors.ts'
import {
  type BacktestMessage,
  listedLocators,
  type Period,
  reportBacktest,
} from '../../core/workbench/backtest-report.ts'
import { isUnreachable } from '../../postgres/connection/errors.ts'
import { type DatabasePool, openPool } from '../../postgres/connection/pool.ts'
import { findMembers } from '../../postgres/read/find-members.ts'
import { ruleTableOf } from '../rule-files.ts'
import { runBacktest } from '../run-backtest.ts'

export interface BacktestJob {
  readonly table: string
  readonly period: Period
}

/** So few that the pause after a page, while dispatch is busy, is short. */
const PAGE_COUNT_MAX = 25_000
/** A tenth of the share of the other threads where there are too few processors for all; with the least it would starve. */
const PRIORITY = 10

// On Linux this is the priority of the calling thread alone; elsewhere it would be that of the process.
if (process.platform === 'linux') setPriority(PRIORITY)

parentPort?.once('message', async (job: BacktestJob) => {
  parentPort?.postMessage(await runToEnd(job))
})
parentPort?.postMessage(null)

async function runToEnd({ table, period: { from, to } }: BacktestJob): Promise<BacktestMessage> {
  let pool: DatabasePool | null = null
  try {
    const candidate = await ruleTableOf(table)
    pool = await openPool({ databaseUrl: workerData as string, connectionCountMax: 1, endWithClient: true })
    const period = { since: from, until: to, counting: 'last', pageCountMax: PAGE_COUNT_MAX } as const
    const result = await runBacktest(pool, candidate, period, (events) => say({ kind: 'progress', events }))
    const members = await findMembers(pool, listedLocators(result))
    return { kind: 'report', report: reportBacktest(result, members) }
  } catch (error) {
    if (error instanceof RuleTableError) return { kind: 'faults', faults: error.faults }
    if (isUnreachable(error)) return { kind: 'problem', problem: 'The database did not respond.' }
    throw error
  } finally {
    await pool?.end()
  }
}

/** Resolves when it is to go on. */
async function say(message: BacktestMessage): Promise<void> {
  const goOn = once(parentPort as NonNullable<typeof parentPort>, 'message')
  parentPort?.postMessage(message)
  await goOn
}
