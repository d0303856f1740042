import { type BacktestResult, createBacktest } from '../core/rules/backtest.ts'
import type { RuleTable } from '../core/rules/table.ts'
import { createRuleCache, type RulesByRevision } from '../core/why/archived-rules.ts'
import type { DatabasePool } from '../postgres/connection/pool.ts'
import { type Counting, decisionGroups } from '../postgres/read/group-decisions.ts'
import { readArchivedRuleTable } from '../postgres/read/read-archive.ts'
import { TEMPLATE_EVENT_TYPES } from './rule-files.ts'

export interface BacktestPeriod {
  /** A time, as text of the database. */
  readonly since: string
  /** Null: up to now. */
  readonly until: string | null
  readonly counting: Counting
  /** The database looks at so many events at a time. */
  readonly pageCountMax: number
}

/**
 * Decides all events of a period by a candidate table. `onProgress` learns after each page how many were decided; the next
 * page waits for it.
 */
export async function runBacktest(
  pool: DatabasePool,
  candidate: Pick<RuleTable, 'decide'>,
  { since, until, counting, pageCountMax }: BacktestPeriod,
  onProgress: (eventCount: number) => Promise<void> | void,
): Promise<BacktestResult> {
  const rulesOf = createRuleCache((revision) => readArchivedRuleTable(pool, revision), TEMPLATE_EVENT_TYPES)
  let rules: RulesByRevision = new Map()
  const test = createBacktest(candidate, (revision, ruleId) => {
    const known = rules.get(revision)
    return typeof known === 'object' ? known.find(({ id }) => id === ruleId)?.reason : undefined
  })
  let seen = 0
  for await (const { events, groups } of decisionGroups(pool, since, pageCountMax, counting, until)) {
    rules = await rulesOf(groups)
    for (const group of groups) test.add(group)
    seen += events
    await onProgress(seen)
  }
  return test.result()
}
