import { type BacktestResult, createBacktest } from '../core/rules/backtest.ts'
import type { RuleTable } from '../core/rules/table.ts'
import type { RulesByRevision } from '../core/why/archived-rules.ts'
import type { DatabasePool } from '../postgres/connection/pool.ts'
import { decisionGroups } from '../postgres/read/group-decisions.ts'
import { loadArchivedRules } from './in-force.ts'

/**
 * Decides all events of a period by a candidate table. The times are in the database's format; `until` null: up to now.
 * `pageCountMax`: number of events that the database looks at per page. `onProgress` gets the number of decided events after each
 * page; the next page waits for it.
 */
export async function runBacktest(
  pool: DatabasePool,
  candidate: Pick<RuleTable, 'decide'>,
  [since, until]: readonly [since: string, until: string | null],
  pageCountMax: number,
  onProgress: (eventCount: number) => Promise<void> | void,
): Promise<BacktestResult> {
  let rules: RulesByRevision = new Map()
  const test = createBacktest(candidate, (revision, ruleId) => {
    const known = rules.get(revision)
    return typeof known === 'object' ? known.find(({ id }) => id === ruleId)?.reason : undefined
  })
  let seen = 0
  for await (const { events, groups } of decisionGroups(pool, since, pageCountMax, until)) {
    rules = await loadArchivedRules(pool, groups)
    for (const group of groups) test.add(group)
    seen += events
    await onProgress(seen)
  }
  return test.result()
}
