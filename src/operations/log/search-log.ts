import { type CommonQueryMethods, sql } from 'slonik'
import { z } from 'zod'
import { sqlArray } from '../../service/store/sql/columns.ts'
import { REFERENCE, selectEndingKey } from '../../service/store/sql/log-columns.ts'
import { findByWords } from '../../service/text/find-by-words.ts'
import { type SearchHit, type SearchResult, searchHit } from './search.ts'
import { LISTED_COUNT_MAX, NUMBERED_KINDS } from './search-kinds.ts'

/** Maximum number of names with the same beginning offered of each kind. */
const BEGINNING_COUNT_MAX = 8
/** @internal Maximum number of names with the same ending counted of each kind. More would take time and help nobody. */
export const ENDING_COUNT_MAX = 250
/** Decisions about a reference that are examined to see whether all belong to one entry. */
const ATTEMPT_COUNT_MAX = 100

/** Characters that word processors, mails and forms substitute for a hyphen or a blank. */
const DASHES = /[\p{Pd}\u2212]/gu
const BLANKS = /\s/gu

/** Sorts after any other character in the order of bytes. */
const LAST_CHARACTER = '\u{10ffff}'

/** Kinds whose names no index of the log finds by words. */
export interface KnownWords {
  readonly eventTypes: readonly string[]
  readonly reasons: readonly string[]
}

/** Finds the names in the log that equal a text, and those that are spelled differently, begin or end with it. */
export async function searchLog(
  connection: CommonQueryMethods,
  text: string,
  { eventTypes, reasons }: KnownWords,
): Promise<SearchResult> {
  const bare = text.replaceAll(/\s/g, '')
  // Only the first part of a locator has capitals.
  const trimmed = text.trim()
  const plain = trimmed.replaceAll(DASHES, '-').replaceAll(BLANKS, ' ')
  const typed = [...new Set([text, trimmed, plain])]
  const ofEntry = bare.toLowerCase().replace(/^ntf-/, 'NTF-')
  const names = new Set([...typed.flatMap((name) => [name, name.toLowerCase(), name.toUpperCase()]), ofEntry])
  const named = (kind: SearchHit['kind'], words: readonly string[]) =>
    findByWords(text, words).map((value) => ({ kind, value, locator: null }))
  const exact = await connection.any(namesQuery([...names]))
  const { listed, more: beginnings } = cutContinuations(await connection.any(continuationsQuery(typed)))
  const found: SearchHit[] = [
    ...exact,
    ...named('event type', eventTypes),
    ...named('reason', reasons),
    ...listed,
  ]
  const endings: SearchResult['endings'] = []
  for (const kind of NUMBERED_KINDS) {
    const asTyped = await connection.any(endingsQuery(kind, text))
    const isFound = plain === trimmed || asTyped.some(({ value }) => value !== null)
    const rows = isFound ? asTyped : await connection.any(endingsQuery(kind, plain))
    const count = rows[0]?.count ?? 0
    found.push(...rows.flatMap(({ value, locator }) => (value === null ? [] : { kind, value, locator })))
    if (count > LISTED_COUNT_MAX)
      endings.push({ kind, count: Math.min(count, ENDING_COUNT_MAX), isMore: count > ENDING_COUNT_MAX })
  }
  const members = new Set(found.filter(({ kind }) => kind === 'member').map(({ value }) => value))
  // An event without a reference is about its member.
  const isDouble = ({ kind, value }: SearchHit) => kind === 'reference' && members.has(value)
  const isFirst = ({ kind, value }: SearchHit, i: number) =>
    i === found.findIndex((hit) => hit.kind === kind && hit.value === value)
  const distinct = found.filter((hit, i) => !isDouble(hit) && isFirst(hit, i))
  const { hits = [], similar = [] } = Object.groupBy(distinct, ({ value }) =>
    value === text ? 'hits' : 'similar',
  )
  return { hits, similar, beginnings, endings }
}

/** The first names of each kind, and the kinds with more. */
function cutContinuations(found: readonly SearchHit[]) {
  const byKind = NUMBERED_KINDS.map((kind) => {
    const values = new Set(found.filter((hit) => hit.kind === kind).map(({ value }) => value))
    return { kind, values: [...values] }
  })
  return {
    listed: byKind.flatMap(({ kind, values }) =>
      values.slice(0, BEGINNING_COUNT_MAX).map((value) => ({ kind, value, locator: null })),
    ),
    more: byKind.flatMap(({ kind, values }) => (values.length > BEGINNING_COUNT_MAX ? [kind] : [])),
  }
}

/** @internal Rows whose id, party or reference equals one of these names. */
export function namesQuery(names: readonly string[]) {
  const searched = sqlArray('text', names)
  const typed = sql.fragment`unnest(${searched}) AS typed (name)`
  const isIn = (table: string, column: string) => sql.fragment`EXISTS (
      SELECT FROM ${sql.identifier(['notifications', table])} AS found WHERE ${sql.identifier(['found', column])} = typed.name
    )`
  return sql.type(searchHit)`
    SELECT 'entry' AS kind, locator AS value, locator FROM notifications.notification_log WHERE locator = ANY(${searched})
    UNION ALL SELECT 'event', event_id, locator FROM notifications.notification_log WHERE event_id = ANY(${searched})
    UNION ALL SELECT 'member', name, NULL FROM ${typed}
    WHERE ${isIn('notification_log', 'party_locator')} OR ${isIn('notification_preferences', 'party_locator')}
      OR ${isIn('preference_change', 'party_locator')}
    UNION ALL SELECT 'reference', name, CASE WHEN cardinality(locators) = 1 THEN locators[1] END
    FROM ${typed}, LATERAL (
      SELECT array_agg(DISTINCT locator) AS locators FROM (
        SELECT locator FROM notifications.decision
        WHERE ${REFERENCE} = left(name, 255) AND variables ->> 'locator' = name LIMIT ${ATTEMPT_COUNT_MAX}
      ) AS looked
    ) AS found
    WHERE locators IS NOT NULL`
}

/**
 * @internal Members and references that begin with one of these texts: the first ones of each, and one more, found one by one in an
 * index.
 */
export function continuationsQuery(beginnings: readonly string[]) {
  const typed = sql.fragment`unnest(${sqlArray('text', beginnings)}) AS typed (beginning)`
  const party = continuations(sql.fragment`notifications.notification_log`, sql.fragment`party_locator`, {
    ...{ from: sql.fragment`>=`, after: sql.fragment`>`, before: sql.fragment`<` },
  })
  // The operators of an index in the order of bytes, whatever the locale.
  const reference = continuations(sql.fragment`notifications.decision`, REFERENCE, {
    ...{ from: sql.fragment`~>=~`, after: sql.fragment`~>~`, before: sql.fragment`~<~` },
  })
  return sql.type(searchHit)`
    SELECT 'member' AS kind, value, NULL AS locator FROM ${typed}, LATERAL (${party}) AS party
    UNION ALL SELECT 'reference', value, NULL FROM ${typed}, LATERAL (${reference}) AS reference`
}

type Fragment = ReturnType<typeof sql.fragment>

function continuations(
  table: Fragment,
  key: Fragment,
  { from, after, before }: Record<'from' | 'after' | 'before', Fragment>,
): Fragment {
  const first = (condition: Fragment) => sql.fragment`
    SELECT ${key} AS value FROM ${table}
    WHERE ${condition} AND ${key} ${before} (typed.beginning || ${LAST_CHARACTER}) ORDER BY ${key} USING ${before} LIMIT 1`
  return sql.fragment`
    WITH RECURSIVE walk AS (
      (${first(sql.fragment`${key} ${from} typed.beginning`)})
      UNION ALL
      SELECT (${first(sql.fragment`${key} ${after} walk.value`)}) FROM walk WHERE walk.value IS NOT NULL
    )
    SELECT value FROM walk WHERE value IS NOT NULL LIMIT ${BEGINNING_COUNT_MAX + 1}`
}

/** Sources of names found by their endings. Only members with preferences are included, since an index of the log would slow dispatch. */
const ENDING_SOURCES = {
  member: {
    table: sql.fragment`notifications.notification_preferences`,
    name: sql.fragment`party_locator`,
    locator: sql.fragment`NULL`,
    newest: sql.fragment`
      SELECT created_at FROM notifications.notification_log WHERE party_locator = name ORDER BY created_at DESC LIMIT 1`,
  },
  reference: {
    table: sql.fragment`notifications.decision`,
    name: sql.fragment`variables ->> 'locator'`,
    locator: sql.fragment`locator`,
    newest: sql.fragment`
      SELECT locator FROM notifications.decision WHERE ${REFERENCE} = left(name, 255) ORDER BY locator DESC LIMIT 1`,
  },
} as const

/** `value` is null if names are only counted. */
const ending = z.object({ value: z.string().nullable(), locator: z.string().nullable(), count: z.int() })

/**
 * @internal The newest members or references whose letters and digits end in those of a text; names with just these come first.
 * Each step finds the next key in an index, so a name with many entries costs no more. If there are too many to count, the newest
 * are unknown, and only those with just these letters and digits are listed.
 */
export function endingsQuery(kind: (typeof NUMBERED_KINDS)[number], text: string) {
  const { table, name, locator, newest } = ENDING_SOURCES[kind]
  const key = selectEndingKey(name)
  const next = (condition: Fragment) => sql.fragment`
    SELECT ${key} AS key, ${name} AS name FROM ${table}
    WHERE ${key} ${condition} AND ${key} < typed.key || ${LAST_CHARACTER} ORDER BY ${key} LIMIT 1`
  const spelled = sql.fragment`
    SELECT ${name} AS value, ${locator} AS locator FROM ${table} WHERE ${key} = listed.key LIMIT ${ATTEMPT_COUNT_MAX}`
  return sql.type(ending)`
    WITH RECURSIVE typed AS MATERIALIZED (SELECT ${selectEndingKey(sql.fragment`${text}::text`)} AS key),
    walk AS (
      SELECT first.*, 1 AS count FROM typed, LATERAL (${next(sql.fragment`>= typed.key`)}) AS first WHERE typed.key <> ''
      UNION ALL
      SELECT next.*, count + 1 FROM walk, typed, LATERAL (${next(sql.fragment`> walk.key`)}) AS next WHERE count <= ${ENDING_COUNT_MAX}
    ), total AS MATERIALIZED (SELECT count(*)::integer AS count FROM walk),
    listed AS MATERIALIZED (
      SELECT walk.key, walk.key = typed.key AS is_whole, (${newest}) AS newest FROM walk, typed, total
      WHERE total.count <= ${ENDING_COUNT_MAX} OR walk.key = typed.key
      ORDER BY is_whole DESC, newest DESC NULLS LAST LIMIT ${LISTED_COUNT_MAX}
    )
    SELECT value, CASE WHEN min(locator) = max(locator) THEN min(locator) END AS locator, count
    FROM total LEFT JOIN (listed CROSS JOIN LATERAL (${spelled}) AS spelled) ON true
    GROUP BY value, count, is_whole, newest ORDER BY is_whole DESC, newest DESC NULLS LAST, value`
}
