import { once } from 'node:events'
import { setPriority } from 'node:os'
import { type MessagePort, parentPort, workerData } from 'node:worker_threads'
import { LOCATOR_COUNT_MAX } from '../../core/rules/backtest.ts'
import { RuleTableError } from '../../core/rules/errors.ts'
import { type BacktestSource, runBacktest } from '../../core/rules/run-backtest.ts'
import { createRuleTable } from '../../core/rules/table.ts'
import {
  type BacktestJob,
  type BacktestMessage,
  listedLocators,
  reportBacktest,
} from '../../core/workbench/backtest-report.ts'
import { isUnreachable } from '../../postgres/connection/errors.ts'
import { type DatabasePool, openPool } from '../../postgres/connection/pool.ts'
import { findMembers } from '../../postgres/read/find-members.ts'
import { groupDecisions } from '../../postgres/read/group-decisions.ts'
import { readArchived } from '../../postgres/read/read-archive.ts'
import { sha256, TEMPLATE_EVENT_TYPES } from '../rule-files.ts'

export interface BacktestData {
  readonly databaseUrl: string
  readonly job: BacktestJob
}

/** A tenth of the other threads' share if processors are scarce; at the lowest priority it would starve. */
const PRIORITY = 10

// On Linux this sets the priority of the calling thread only; elsewhere it would set that of the process.
if (process.platform === 'linux') setPriority(PRIORITY)

const port = parentPort as MessagePort
const { databaseUrl, job } = workerData as BacktestData
port.postMessage(await runToEnd(job))

async function runToEnd({ table, eventTypes, from, to }: BacktestJob): Promise<BacktestMessage> {
  let pool: DatabasePool | null = null
  try {
    const candidate = await createRuleTable(table, eventTypes, sha256)
    const opened = await openPool({ databaseUrl, connectionCountMax: 1, endWithClient: true })
    pool = opened
    const source: BacktestSource = {
      readPage: (cursor) =>
        groupDecisions(opened, { since: from, until: to }, cursor, { locatorCountMax: LOCATOR_COUNT_MAX }),
      readRuleTable: (revision) => readArchived(opened, 'ruleset', revision),
    }
    const result = await runBacktest(candidate, source, TEMPLATE_EVENT_TYPES, async (events) => {
      const goOn = once(port, 'message')
      port.postMessage({ kind: 'progress', events } satisfies BacktestMessage)
      await goOn
    })
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
