import type { Logger } from 'pino'
import type { RuleTable } from '../decide/rules/table.ts'
import type { DatabasePool } from '../store/connection/pool.ts'
import { activateRuleTable, type CommitOfRules } from '../store/write/activate-rule-table.ts'
import type { Revision } from '../store/write/archive-revisions.ts'
import type { RuleFiles } from './rule-files.ts'

/** Describes what a rule table changes; `before` is the source of the previous one. Returns its faults if it can no longer be read. */
export type DescribeChange = (
  before: string,
  table: RuleTable,
) => Promise<{ readonly changes: readonly string[] } | { readonly faults: readonly string[] }>

/** A replica that decides checks this often whether a table that no replica runs any more was recorded after its own. */
const CHECK_MS = 60_000

/** Records once a decision is committed that the archived rule table is in force, and logs the changes. */
export function createActivation(
  pool: DatabasePool,
  { ruleTable }: RuleFiles,
  commit: CommitOfRules,
  describeChange: DescribeChange,
  log: Logger,
  monotonicMs: () => number,
) {
  /** Null until the first decision is recorded. */
  let recordedMs: number | null = null
  let recording: Promise<void> | null = null

  async function record(): Promise<void> {
    try {
      const activation = await activateRuleTable(pool, ruleTable.revision, commit, recordedMs === null)
      recordedMs = monotonicMs()
      if (activation !== null)
        await logActivation(ruleTable, activation.before, commit.gitCommit, describeChange, log)
    } catch (error) {
      log.warn({ err: error }, 'the rule table in force could not be recorded; the next batch tries again')
    }
    recording = null
  }

  return {
    /** Waits for nothing. Records again after a failure, or if no replica runs the table recorded last. */
    begin: (): void => {
      if (recordedMs === null || monotonicMs() - recordedMs >= CHECK_MS) recording ??= record()
    },
    settled: async (): Promise<void> => {
      await recording
    },
  }
}

async function logActivation(
  table: RuleTable,
  before: Revision | null,
  gitCommit: string | null,
  describeChange: DescribeChange,
  log: Logger,
): Promise<void> {
  const fields = { revision: table.revision, gitCommit, revisionBefore: before?.revision ?? null }
  if (before === null) {
    log.info(fields, 'a rule table is in force for the first time')
    return
  }
  const described = await describeChange(before.source, table)
  if ('changes' in described)
    log.info({ ...fields, ...described }, `a new rule table is in force: ${described.changes[0]}`)
  else
    log.warn(
      { ...fields, ...described },
      'a new rule table is in force; it cannot be compared with the previous one, which this version would refuse',
    )
}
