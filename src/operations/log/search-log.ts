import { type CommonQueryMethods, sql } from 'slonik'
import { z } from 'zod'
import { sqlArray, sqlColumns } from '../../service/store/sql/columns.ts'
import { REFERENCE } from '../../service/store/sql/log-columns.ts'
import { findByWords } from '../../service/text/find-by-words.ts'
import {
  type Ending,
  listEndings,
  listSpellings,
  type SearchHit,
  type SearchResult,
  searchHit,
} from './search.ts'

/** The newest decisions, whose locators show how this company writes its numbers. */
const SAMPLE_COUNT = 500
/** Spellings whose continuations are offered too. */
const BEGINNING_COUNT_MAX = 4
/** Continuations of a spelling, and numbers with the same last digits, of each kind. */
const SIMILAR_COUNT_MAX = 8
/** Decisions about a reference that are looked at to see whether all belong to one entry. */
const ATTEMPT_COUNT_MAX = 100

/** Greater than any other in the order of bytes. */
const LAST_CHARACTER = '\u{10ffff}'

const NUMBERED_KINDS = ['member', 'reference'] as const
const sample = z.object({ kind: z.enum(NUMBERED_KINDS), value: z.string() })

/** Names that no index of the log finds by their words. */
export interface KnownWords {
  readonly eventTypes: readonly string[]
  readonly reasons: readonly string[]
}

/** Finds what a text names in the log, and names that are nearly so. */
export async function searchLog(
  connection: CommonQueryMethods,
  text: string,
  { eventTypes, reasons }: KnownWords,
): Promise<SearchResult> {
  const samples = await connection.any(samplesQuery())
  const spellings = [
    text,
    ...listSpellings(
      text,
      samples.map(({ value }) => value),
    ),
  ]
  const named = (kind: SearchHit['kind'], names: readonly string[]) =>
    findByWords(text, names).map((value) => ({ kind, value, locator: null }))
  const found: SearchHit[] = [
    ...(await connection.any(namesQuery(spellings))),
    ...named('event type', eventTypes),
    ...named('reason', reasons),
    ...(await connection.any(continuationsQuery(spellings.slice(0, BEGINNING_COUNT_MAX)))),
  ]
  for (const kind of NUMBERED_KINDS) {
    const numbers = samples.filter((sample) => sample.kind === kind).map(({ value }) => value)
    const endings = listEndings(text, numbers)
    if (endings.length > 0) found.push(...(await connection.any(endingsQuery(kind, endings))))
  }
  const members = new Set(found.filter(({ kind }) => kind === 'member').map(({ value }) => value))
  // An event without a reference is about its member.
  const isDouble = ({ kind, value }: SearchHit) => kind === 'reference' && members.has(value)
  const isFirst = ({ kind, value }: SearchHit, i: number) =>
    i === found.findIndex((one) => one.kind === kind && one.value === value)
  const distinct = found.filter((one, i) => !isDouble(one) && isFirst(one, i))
  const { hits = [], similar = [] } = Object.groupBy(distinct, ({ value }) =>
    value === text ? 'hits' : 'similar',
  )
  return { hits, similar }
}

function samplesQuery() {
  const newest = sql.fragment`SELECT * FROM notifications.decision ORDER BY locator DESC, attempt DESC LIMIT ${SAMPLE_COUNT}`
  return sql.type(sample)`
    WITH newest AS MATERIALIZED (${newest})
    SELECT 'member' AS kind, party_locator AS value FROM newest WHERE party_locator IS NOT NULL
    UNION SELECT 'reference', ${REFERENCE} FROM newest WHERE variables ->> 'locator' IS NOT NULL`
}

/** @internal What bears exactly one of these names. */
export function namesQuery(names: readonly string[]) {
  const all = sqlArray('text', names)
  const typed = sql.fragment`unnest(${all}) AS typed (name)`
  const isIn = (table: string, column: string) => sql.fragment`EXISTS (
      SELECT FROM ${sql.identifier(['notifications', table])} AS found WHERE ${sql.identifier(['found', column])} = typed.name
    )`
  return sql.type(searchHit)`
    SELECT 'entry' AS kind, locator AS value, locator FROM notifications.notification_log WHERE locator = ANY(${all})
    UNION ALL SELECT 'event', event_id, locator FROM notifications.notification_log WHERE event_id = ANY(${all})
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

/** @internal Members and references that begin with one of these texts: the first ones of each, found one by one in an index. */
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
    SELECT value FROM walk WHERE value IS NOT NULL LIMIT ${SIMILAR_COUNT_MAX}`
}

/** @internal Members or references with these endings, the highest numbers of each: every number is looked up until enough are found. */
export function endingsQuery(kind: (typeof NUMBERED_KINDS)[number], endings: readonly Ending[]) {
  const column = sqlColumns(endings)
  const logged =
    kind === 'member'
      ? sql.fragment`SELECT FROM notifications.notification_log WHERE party_locator = name LIMIT 1`
      : sql.fragment`SELECT FROM notifications.decision WHERE ${REFERENCE} = name LIMIT 1`
  return sql.type(searchHit)`
    SELECT ${kind} AS kind, name AS value, NULL AS locator
    FROM unnest(
      ${column('text', ({ prefix }) => prefix)}, ${column('int4', ({ missingDigits }) => missingDigits)},
      ${column('text', ({ digits }) => digits)}
    ) AS ending (prefix, missing, digits), LATERAL (
      SELECT name FROM generate_series((10 ^ missing)::integer - 1, 1, -1) AS number,
        LATERAL (SELECT prefix || lpad(number::text, missing, '0') || digits AS name) AS made, LATERAL (${logged}) AS logged
      LIMIT ${SIMILAR_COUNT_MAX}
    ) AS found`
}
