import { loadArchivedRules } from '../../service/app/load-archived-rules.ts'
import { TEMPLATE_EVENT_TYPES } from '../../service/app/rule-files.ts'
import { WITHOUT_RULE } from '../../service/decide/decision/skip-pruned.ts'
import type { PastRule } from '../../service/decide/rules/rule.ts'
import { describeHold } from '../../service/model/request/hold.ts'
import type { DatabasePool } from '../../service/store/connection/pool.ts'
import { listEventTypes } from '../../service/store/read/event-types.ts'
import { listArchived } from '../../service/store/read/read-archive.ts'
import { readHolds } from '../../service/store/read/read-holds.ts'
import { didYouMean, nearest } from '../../service/text/nearest.ts'
import { printable } from '../../service/text/sanitize.ts'
import { UsageError } from '../../terminal/options.ts'
import { note } from '../../terminal/print.ts'
import type { World } from '../../terminal/world.ts'
import type { SearchHit, SearchResult } from './search.ts'
import { describeBeginning, describeEnding, findMeant, LOOKED_FOR, SEARCH_ON } from './search-kinds.ts'
import { searchLog } from './search-log.ts'

/** Throws UsageError for a rule that was never in a rule table, unless some table cannot be read. */
export async function checkRule(pool: DatabasePool, rule: string): Promise<void> {
  const tables = await loadAllRules(pool)
  const ids = tables.flatMap((rules) => (typeof rules === 'string' ? [] : rules.map(({ id }) => id)))
  const isAllRead = tables.every((rules) => typeof rules !== 'string')
  if (!isAllRead || ids.length === 0 || [...WITHOUT_RULE, ...ids].includes(rule)) return
  throw new UsageError(`no rule table has ever had a rule "${rule}"${didYouMean(nearest(rule, ids))}`)
}

/** The rules of every table that was ever in force; a text for an unreadable table. */
async function loadAllRules(pool: DatabasePool): Promise<readonly (readonly PastRule[] | string)[]> {
  const revisions = await listArchived(pool, 'ruleset')
  const made = revisions.map((ruleTableRevision) => ({ ruleTableRevision }))
  return [...(await loadArchivedRules(pool, made)).values()]
}

/** Notes that an event type has no template. This is no fault, since producers may send any type. */
export function noteUnknownEventType(world: World, eventType: string): void {
  if (TEMPLATE_EVENT_TYPES.includes(eventType)) return
  const near = didYouMean(nearest(eventType, TEMPLATE_EVENT_TYPES))
  note(world, `there is no template for "${eventType}"${near}`)
}

const SIMILAR_COUNT_MAX = 5

/**
 * Finds the member, reference, event, entry or event type with a name. Accepts another spelling if it is the only one, with a note.
 * Otherwise notes similar names, and returns null.
 */
export async function findNamed(world: World, pool: DatabasePool, text: string): Promise<SearchHit | null> {
  const found = await search(pool, text)
  const meant = found.hits[0] ?? findMeant(text, found)
  if (meant !== null) {
    if (meant.value !== text)
      note(world, `no exact match for "${printable(text)}": this is for ${nameHit(meant)}`)
    return meant
  }
  note(world, `nothing in the log is called "${printable(text)}"${listSimilar(found.similar)}`)
  for (const kind of found.beginnings ?? []) note(world, describeBeginning(kind))
  for (const ending of found.endings) note(world, describeEnding(ending))
  if (found.similar.length + found.endings.length === 0)
    note(world, `${LOOKED_FOR}\n${SEARCH_ON} \`log --since 30d\` lists everything.`)
  await noteHolds(world, pool)
  world.exitCode = 1
  return null
}

/** An event that waits for the end of a hold has no entry, so no search finds it. */
async function noteHolds(world: World, pool: DatabasePool): Promise<void> {
  const holds = (await readHolds(pool)).map(
    (hold) => `${hold.topics?.join(', ') ?? 'all topics'} ${describeHold(hold)}`,
  )
  if (holds.length > 0) note(world, `messages are held: ${printable(holds.join('; '))}: its event may wait`)
}

async function search(pool: DatabasePool, text: string): Promise<SearchResult> {
  const rules = (await loadAllRules(pool)).flatMap((table) => (typeof table === 'string' ? [] : table))
  const reasons = new Set(rules.flatMap(({ reason }) => reason ?? []))
  const logged = (await listEventTypes(pool)).map(({ eventType }) => eventType)
  const eventTypes = new Set([...TEMPLATE_EVENT_TYPES, ...logged])
  return searchLog(pool, text, { eventTypes: [...eventTypes], reasons: [...reasons] })
}

function nameHit({ kind, value }: SearchHit): string {
  return `the ${kind} ${printable(value)}`
}

function listSimilar(similar: readonly SearchHit[]): string {
  if (similar.length === 0) return ''
  const more = similar.length > SIMILAR_COUNT_MAX ? ', …' : ''
  return `; similar: ${similar.slice(0, SIMILAR_COUNT_MAX).map(nameHit).join(', ')}${more}`
}
