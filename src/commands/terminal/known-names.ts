import { loadArchivedRules } from '../../app/in-force.ts'
import { TEMPLATE_EVENT_TYPES } from '../../app/rule-files.ts'
import { WITHOUT_RULE } from '../../core/decision/skip-pruned.ts'
import type { LogFilter } from '../../core/log/log-filter.ts'
import type { SearchHit } from '../../core/log/search.ts'
import { didYouMean, nearest } from '../../core/text/nearest.ts'
import { printable } from '../../core/text/sanitize.ts'
import type { DatabasePool } from '../../postgres/connection/pool.ts'
import { listArchived } from '../../postgres/read/read-archive.ts'
import { searchLog } from '../../postgres/read/search-log.ts'
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

const SIMILAR_COUNT_MAX = 5
const FILTER_OF = {
  entry: 'locator',
  event: 'eventId',
  member: 'partyLocator',
  reference: 'reference',
  'event type': 'eventType',
} as const

/**
 * Finds what the log knows under a name: a member, reference, event, entry or event type. A name that is nearly right is taken if
 * nothing else is near, and noted. Else notes what is similar, and returns null.
 */
export async function findNamed(pool: DatabasePool, text: string): Promise<SearchHit | null> {
  const { hits, similar } = await searchLog(pool, text, TEMPLATE_EVENT_TYPES)
  const [hit] = hits
  const [only, ...others] = similar
  if (hit !== undefined) return hit
  if (only !== undefined && others.length === 0) {
    note(`nothing is called exactly "${printable(text)}": this is for ${nameHit(only)}`)
    return only
  }
  note(`nothing in the log is called "${printable(text)}"${listSimilar(similar)}`)
  process.exitCode = 1
  return null
}

/** Notes that the log knows no such member, and whom it knows by a similar locator. */
export async function noteUnknownMember(pool: DatabasePool, party: string): Promise<void> {
  const { hits, similar } = await searchLog(pool, party, [])
  if (hits.some(({ kind }) => kind === 'member')) return
  note(`there is no member "${printable(party)}"${listSimilar([...hits, ...similar])}`)
}

function nameHit({ kind, value }: SearchHit): string {
  return `the ${kind} ${printable(value)}`
}

function listSimilar(similar: readonly SearchHit[]): string {
  if (similar.length === 0) return ''
  const more = similar.length > SIMILAR_COUNT_MAX ? ', …' : ''
  return `; similar: ${similar.slice(0, SIMILAR_COUNT_MAX).map(nameHit).join(', ')}${more}`
}

/** The filter for the entries of something that was found. */
export function filterFor({ kind, value }: SearchHit): LogFilter {
  return { [FILTER_OF[kind]]: value }
}
