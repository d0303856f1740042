import { type RulesByRevision, readRules } from './archived-rules.ts'
import { type BacktestChange, type BacktestResult, createBacktest } from './backtest.ts'
import type { DecisionGroup, DecisionPage } from './decision-group.ts'
import type { RuleTable } from './table.ts'

/** Reads the decisions of a period, and the rule tables that made them. */
export interface BacktestSource {
  /** The page at a cursor; null: the first one. */
  readonly readPage: (cursor: string | null) => Promise<DecisionPage>
  /** A rule table from the archive, or null. */
  readonly readRuleTable: (revision: string) => Promise<string | null>
}

/**
 * Decides all events of a period by a candidate table, page by page. `onProgress` gets the number of events so far, `onChange`
 * each group that is decided differently, with the cursor of its page.
 */
export async function runBacktest(
  candidate: Pick<RuleTable, 'decide'>,
  { readPage, readRuleTable }: BacktestSource,
  knownEventTypes: readonly string[],
  onProgress: (eventCount: number) => void,
  onChange: (change: BacktestChange, group: DecisionGroup, cursor: string | null) => void = () => {},
): Promise<BacktestResult> {
  let rules: RulesByRevision = new Map()
  const test = createBacktest(candidate, (revision, ruleId) => {
    const known = rules.get(revision)
    return typeof known === 'object' ? known.find(({ id }) => id === ruleId)?.reason : undefined
  })
  let seen = 0
  for (let next: string | null | undefined; next !== null; ) {
    const cursor: string | null = next ?? null
    const { events, groups, nextCursor } = await readPage(cursor)
    const unread = groups.filter(({ ruleTableRevision }) => !rules.has(ruleTableRevision))
    rules = new Map([...rules, ...(await readRules(unread, readRuleTable, knownEventTypes))])
    for (const group of groups) {
      const change = test.add(group)
      if (change !== null) onChange(change, group, cursor)
    }
    seen += events
    onProgress(seen)
    next = nextCursor
  }
  return test.result()
}
