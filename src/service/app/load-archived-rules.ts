import type { CommonQueryMethods } from 'slonik'
import { readRules } from '../decide/rules/archived-rules.ts'
import { explainListed } from '../decide/why/why-told-or-not.ts'
import type { DecidedRow } from '../model/log/log-entry.ts'
import type { LogPage } from '../model/log/log-page.ts'
import { readArchived } from '../store/read/read-archive.ts'
import { TEMPLATE_EVENT_TYPES } from './rule-files.ts'

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
