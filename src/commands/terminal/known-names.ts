import { loadArchivedRules } from '../../app/in-force.ts'
import { TEMPLATE_EVENT_TYPES } from '../../app/rule-files.ts'
import { WITHOUT_RULE } from '../../core/decision/skip-pruned.ts'
import { didYouMean, nearest } from '../../core/text/nearest.ts'
import type { DatabasePool } from '../../postgres/connection/pool.ts'
import { listArchived } from '../../postgres/read/read-archive.ts'
import { UsageError } from './options.ts'
import { note } from './print.ts'

/** Throws UsageError for a rule that no rule table ever had, unless some table cannot be read. */
export async function checkRule(pool: DatabasePool, rule: string): Promise<void> {
  const revisions = await listArchived(pool, 'ruleset')
  const made = revisions.map((ruleTableRevision) => ({ ruleTableRevision }))
  const tables = [...(await loadArchivedRules(pool, made)).values()]
  const ids = tables.flatMap((rules) => (typeof rules === 'string' ? [] : rules.map(({ id }) => id)))
  const isAllRead = tables.every((rules) => typeof rules !== 'string')
  if (!isAllRead || ids.length === 0 || [...WITHOUT_RULE, ...ids].includes(rule)) return
  throw new UsageError(`no rule table has ever had a rule "${rule}"${didYouMean(nearest(rule, ids))}`)
}

/** Notes that an event type has no template, which is no fault: producers may send any type. */
export function noteUnknownEventType(eventType: string): void {
  if (TEMPLATE_EVENT_TYPES.includes(eventType)) return
  const near = didYouMean(nearest(eventType, TEMPLATE_EVENT_TYPES))
  note(`there is no template for "${eventType}"${near}`)
}
