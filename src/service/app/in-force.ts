import type { Logger } from 'pino'
import type { CommonQueryMethods } from 'slonik'
import { diffRuleTables } from '../../authoring/diff/compare-tables.ts'
import { describeDiff } from '../../authoring/diff/diff-text.ts'
import { explainListed } from '../../operations/why/why-told-or-not.ts'
import { readRules } from '../decide/rules/archived-rules.ts'
import { RuleTableError } from '../decide/rules/errors.ts'
import type { RuleTable } from '../decide/rules/table.ts'
import type { DecidedRow } from '../model/log/log-entry.ts'
import type { LogPage } from '../model/log/log-page.ts'
import type { DatabasePool } from '../store/connection/pool.ts'
import { readArchived } from '../store/read/read-archive.ts'
import { activateRuleTable } from '../store/write/activate-rule-table.ts'
import { archiveEnvelopeMap, archiveRevisions, type Revision } from '../store/write/archive-revisions.ts'
import { describeFault } from '../text/faults.ts'
import { compileRuleTable, type RuleFiles, TEMPLATE_EVENT_TYPES } from './rule-files.ts'

/** The rules that made these decisions, from the archive. */
export function loadArchivedRules(
  pool: CommonQueryMethods,
  decisions: readonly { ruleTableRevision: string }[],
) {
  return readRules(decisions, (revision) => readArchived(pool, 'ruleset', revision), TEMPLATE_EVENT_TYPES)
}

/** Adds to each entry of a list why its member was not told. */
export async function explainPage(
  pool: CommonQueryMethods,
  { items, next }: LogPage<DecidedRow>,
): Promise<LogPage> {
  const revisions = items.flatMap(({ ruleTableRevision }) =>
    ruleTableRevision === null ? [] : [{ ruleTableRevision }],
  )
  return { items: explainListed(items, await loadArchivedRules(pool, revisions)), next }
}

/** Archives the rule table, the envelope map and the templates, so that each decision can name its revisions. */
export async function archiveRuleFiles(
  pool: DatabasePool,
  { ruleTable, templates, envelopeMapRevision }: RuleFiles,
): Promise<void> {
  await archiveRevisions(pool, ruleTable, [...templates.byEventType.values(), templates.generic])
  await archiveEnvelopeMap(pool, envelopeMapRevision)
}

/** Records that the archived rule table is in force from now on, and logs the changes. */
export async function recordInForce(
  pool: DatabasePool,
  { ruleTable }: RuleFiles,
  gitCommit: string | null,
  log: Logger,
): Promise<void> {
  const activation = await activateRuleTable(pool, ruleTable.revision, gitCommit)
  if (activation !== null) await logActivation(ruleTable, activation.before, gitCommit, log)
}

async function logActivation(
  table: RuleTable,
  before: Revision | null,
  gitCommit: string | null,
  log: Logger,
): Promise<void> {
  const fields = { revision: table.revision, gitCommit, revisionBefore: before?.revision ?? null }
  if (before === null) {
    log.info(fields, 'a rule table is in force for the first time')
    return
  }
  try {
    const changes = describeDiff(diffRuleTables(await compileRuleTable(before.source), table))
    log.info({ ...fields, changes }, `a new rule table is in force: ${changes[0]}`)
  } catch (error) {
    if (!(error instanceof RuleTableError)) throw error
    log.warn(
      { ...fields, faults: error.faults.map(describeFault) },
      'a new rule table is in force; it cannot be compared with the previous one, which this version would refuse',
    )
  }
}
