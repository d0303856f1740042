import { type DatabasePool, sql } from 'slonik'
import { z } from 'zod'
import { ERASED_UNSENT } from '../../service/model/log/log-entry.ts'
import { lockErasure } from '../../service/store/sql/advisory-locks.ts'
import { jsonBytes, withinBytes } from '../../service/store/sql/page-bytes.ts'
import type { ErasureCounts } from './erasure-record.ts'
import { fixedPart, type Mention, type Search } from './find-mention.ts'

/** Limits transactions to a few milliseconds, so that they block nothing. */
const ENTRY_COUNT_MAX = 500
/** Entries of a party examined by one statement. */
const SEARCHED_COUNT_MAX = 5_000
/** @internal Rows examined by one statement, which compares keys only. */
export const DECISION_COUNT_MAX = 50_000

const HOLDS_TEXT = sql.fragment`(subject IS NOT NULL OR body IS NOT NULL)`

const locators = z.object({ locator: z.string() })

export interface EntriesOfParty {
  /** Locators of entries that still hold data. */
  readonly locators: readonly string[]
  readonly retries: number
  /** Locators of entries that may be another member's. */
  readonly longer: readonly string[]
  /** Locators of the party's rows without data. */
  readonly blank: readonly string[]
}

/**
 * Yields the party's entries, in pages: first decisions without a row, which a rebuild would restore, then log entries, including
 * any restored meanwhile, and entries without a party that name this one. `onProgress` gets the number of decisions compared with
 * the log so far.
 */
export async function* findEntries(
  pool: DatabasePool,
  search: Search,
  onProgress: (decisions: number) => void,
): AsyncGenerator<EntriesOfParty> {
  const { party } = search
  yield* decisionsOfParty(pool, party, onProgress)
  yield* entriesOf(START, async (after) => {
    const rows = await pool.any(pageOfPartyQuery(party, after))
    return rows.map((row) => ({ ...row, mention: row.holdsData ? 'named' : 'blank' }))
  })
  yield* entriesOfNobody(pool, search)
}

/** @internal Pages of entries without a party that name this one, with or without a row. */
export function entriesOfNobody(
  pool: DatabasePool,
  { party, wanted, mentionIn }: Search,
): AsyncGenerator<EntriesOfParty> {
  const start = { locator: '', attempt: 0 }
  return entriesOf(start, async (after) => {
    const rows = await pool.any(pageOfNobodyQuery(party, after))
    return rows.map((row) => {
      const mentions = row.texts?.map(mentionIn).filter((mention) => mention !== null) ?? []
      const isNamed = mentions.includes('named') || (mentions.length > 0 && wanted.has(row.locator))
      return { ...row, mention: isNamed ? 'named' : (mentions[0] ?? null) }
    })
  })
}

/** `status` is null where there is no row. */
const entryRow = z.object({ locator: z.string(), status: z.string().nullable() })
interface EntryRow extends Readonly<z.infer<typeof entryRow>> {
  readonly mention: Mention | 'blank' | null
  /** Number of rows on the page without its limit in bytes. */
  readonly found?: number
}

async function* entriesOf<Position>(
  start: Position,
  readPage: (after: Position) => Promise<readonly (EntryRow & Position)[]>,
): AsyncGenerator<EntriesOfParty> {
  let last: string | undefined
  for (let after: Position | null = start; after !== null; ) {
    const rows: readonly (EntryRow & Position)[] = await readPage(after)
    // An entry may have several decisions, on this page and the previous one.
    const found = rows.filter(({ mention, locator }) => mention !== null && locator !== last)
    const entries = [...new Map(found.map((row) => [row.locator, row])).values()]
    last = entries.at(-1)?.locator ?? last
    for (let first = 0; first < entries.length; first += ENTRY_COUNT_MAX) {
      const slice = entries.slice(first, first + ENTRY_COUNT_MAX)
      const named = slice.filter(({ mention }) => mention === 'named')
      const listOf = (wanted: 'longer' | 'blank') =>
        slice.flatMap(({ mention, locator }) => (mention === wanted ? [locator] : []))
      yield {
        locators: named.map(({ locator }) => locator),
        retries: named.filter(({ status }) => status === 'FAILED').length,
        longer: listOf('longer'),
        blank: listOf('blank'),
      }
    }
    const isCut = rows.length < (rows[0]?.found ?? 0)
    after = rows.length < SEARCHED_COUNT_MAX && !isCut ? null : (rows.at(-1) ?? null)
  }
}

const partyRow = entryRow.extend({ createdAt: z.string(), holdsData: z.boolean() })
type Position = Pick<z.infer<typeof partyRow>, 'createdAt' | 'locator'>
const START: Position = { createdAt: '-infinity', locator: '' }

/**
 * @internal The query for the next entries of a party after a position, with a flag for unerased data. Ordered by creation time,
 * which never changes: a concurrent retry changes status or channel, and must not move its row behind the current position.
 */
export function pageOfPartyQuery(partyLocator: string, after: Position) {
  return sql.type(partyRow)`
    SELECT created_at AS "createdAt", locator, status, ${HOLDS_TEXT} OR (
      SELECT true FROM notifications.decision
      WHERE decision.locator = entry.locator AND erased_at IS NULL LIMIT 1
    ) IS NOT NULL AS "holdsData"
    FROM (
      SELECT * FROM notifications.notification_log
      WHERE party_locator = ${partyLocator} AND (created_at, locator) > (${after.createdAt}::timestamptz, ${after.locator})
      ORDER BY created_at, locator LIMIT ${SEARCHED_COUNT_MAX}
    ) AS entry
    ORDER BY created_at, locator`
}

const nobodyRow = entryRow.extend({
  attempt: z.number(),
  found: z.int(),
  texts: z.array(z.string()).nullable(),
})

/**
 * @internal The same by decisions without a party: if the event's party is an object or a list, its reason or reference may still
 * name somebody. An entry that has got a party since belongs to that party. Texts are null if they do not contain the locator.
 */
export function pageOfNobodyQuery(
  partyLocator: string,
  after: Pick<z.infer<typeof nobodyRow>, 'locator' | 'attempt'>,
) {
  const read = sql.fragment`
    SELECT * FROM notifications.decision
    WHERE party_locator IS NULL AND (locator, attempt) > (${after.locator}, ${after.attempt})
    ORDER BY locator, attempt LIMIT ${SEARCHED_COUNT_MAX}`
  return sql.type(nobodyRow)`
    SELECT locator, attempt, found, entry.status, CASE WHEN entry.party_locator IS NULL THEN texts END AS texts
    FROM (
      SELECT locator, attempt, found, CASE
        WHEN erased_at IS NULL AND strpos(variables::text, ${fixedPart(partyLocator)}) > 0 THEN ARRAY(
          SELECT inserted.value FROM jsonb_each_text(variables) AS inserted WHERE inserted.value IS NOT NULL
        )
      END AS texts
      FROM (${withinBytes(read, sql.fragment`locator, attempt`, jsonBytes(sql.fragment`variables`))}) AS decision
    ) AS decision
    LEFT JOIN LATERAL (
      SELECT status, party_locator FROM notifications.notification_log
      WHERE texts IS NOT NULL AND notification_log.locator = decision.locator LIMIT 1
    ) AS entry ON true
    ORDER BY locator, attempt`
}

const page = z.object({ end: z.string().nullable(), count: z.number(), orphans: z.array(z.string()) })

/** Two halves at once, so that both cores of a small server compare keys. */
async function* decisionsOfParty(
  pool: DatabasePool,
  partyLocator: string,
  onProgress: (decisions: number) => void,
): AsyncGenerator<EntriesOfParty> {
  let seen = 0
  const searchUpTo = async (end: string | null, start: string) => {
    const found: string[] = []
    for (let after: string | null = start; after !== null; ) {
      const { end: last, count, orphans }: z.infer<typeof page> = await readPage(pool, after, end)
      if (orphans.length > 0) found.push(...(await pool.anyFirst(ofPartyQuery(partyLocator, orphans))))
      seen += count
      if (count > 0) onProgress(seen)
      after = count < DECISION_COUNT_MAX ? null : last
    }
    return found
  }
  const middle = await pool.oneFirst(MIDDLE)
  const halves = middle === null ? [searchUpTo(null, '')] : [searchUpTo(middle, ''), searchUpTo(null, middle)]
  const found = (await Promise.all(halves)).flat()
  for (let first = 0; first < found.length; first += ENTRY_COUNT_MAX) {
    yield { locators: found.slice(first, first + ENTRY_COUNT_MAX), retries: 0, longer: [], blank: [] }
  }
}

/** Locators ascend with time, so this one is near the middle of most logs; null in a log without a sent message of this century. */
const MIDDLE = sql.type(z.object({ locator: z.string().nullable() }))`
  SELECT (
    SELECT locator FROM notifications.notification_log
    WHERE status = 'SENT' AND created_at >= first + (last - first) / 2 ORDER BY created_at LIMIT 1
  ) AS locator
  FROM (
    SELECT min(created_at) AS first, max(created_at) AS last FROM notifications.notification_log
    WHERE status = 'SENT' AND created_at BETWEEN '2000-01-01Z' AND '2100-01-01Z'
  ) AS sent`

function readPage(pool: DatabasePool, after: string, end: string | null) {
  return pool.transaction(async (tx) => {
    await tx.query(MERGE_ONLY)
    return tx.one(pageOfDecisionsQuery(after, end))
  })
}

/** @internal The planner's other choices would read one side again for each row of the other, or all rows of the log. */
export const MERGE_ONLY = sql.unsafe`
  SELECT set_config('enable_nestloop', 'off', true), set_config('enable_hashjoin', 'off', true)`

/**
 * @internal The query for the next decisions of any party after a locator, up to `end`: the last one, their number, and those
 * without a row. It compares the keys of two indexes and reads no decision. An index by party would cost each logged event a random
 * page.
 */
export function pageOfDecisionsQuery(after: string, end: string | null) {
  const upTo = end === null ? sql.fragment`` : sql.fragment`AND locator <= ${end}`
  return sql.type(page)`
    SELECT max(decided.locator) AS "end", count(*)::integer AS count,
      coalesce(array_agg(decided.locator) FILTER (WHERE entry.locator IS NULL), '{}') AS orphans
    FROM (
      SELECT locator FROM notifications.decision
      WHERE locator > ${after} ${upTo} ORDER BY locator LIMIT ${DECISION_COUNT_MAX}
    ) AS decided
    LEFT JOIN notifications.notification_log AS entry ON entry.locator = decided.locator AND entry.locator > ${after}`
}

function ofPartyQuery(partyLocator: string, orphans: readonly string[]) {
  return sql.type(locators)`
    SELECT DISTINCT locator FROM notifications.decision
    WHERE locator = ANY(${sql.array([...orphans], 'text')}) AND party_locator = ${partyLocator} AND erased_at IS NULL
    ORDER BY locator`
}

/**
 * Blanks log entries and their decisions in one transaction, and counts them in the erasure's record. FAILED rows become SKIPPED,
 * with nothing left to send. Erased rows stay unchanged.
 */
export function eraseEntries(
  pool: DatabasePool,
  erasure: bigint,
  ofParty: readonly string[],
): Promise<Pick<ErasureCounts, 'logEntries' | 'retries'>> {
  const isOfParty = sql.fragment`locator = ANY(${sql.array([...ofParty], 'text')})`
  return pool.transaction(async (tx) => {
    await lockErasure(tx)
    // Waits for a running retry, so that the following statements see its decision.
    const retries = await tx.anyFirst(sql.type(locators)`
      UPDATE notifications.notification_log
      SET status = 'SKIPPED', failure_reason = ${ERASED_UNSENT}, subject = NULL, body = NULL
      WHERE ${isOfParty} AND status = 'FAILED' RETURNING locator`)
    const sent = await tx.anyFirst(sql.type(locators)`
      UPDATE notifications.notification_log SET subject = NULL, body = NULL
      WHERE ${isOfParty} AND ${HOLDS_TEXT} RETURNING locator`)
    const decided = await tx.anyFirst(sql.type(locators)`
      UPDATE notifications.decision
      SET erased_at = now(), variables = NULL, send_error = CASE WHEN send_error IS NOT NULL THEN 'erased' END,
        receipt = CASE WHEN receipt IS NOT NULL THEN 'erased' END,
        -- Of version 1.0.0, which had no requests. Their reasons are erased with them.
        retried_because = CASE WHEN retried_because IS NOT NULL AND request_id IS NULL THEN 'erased' ELSE retried_because END
      WHERE ${isOfParty} AND erased_at IS NULL RETURNING locator`)
    const counts = {
      logEntries: new Set([...retries, ...sent, ...decided]).size,
      retries: retries.length,
    }
    await tx.query(sql.unsafe`
      UPDATE notifications.erasure
      SET log_entries = log_entries + ${counts.logEntries}, retries = retries + ${counts.retries}
      WHERE id = ${erasure}`)
    return counts
  })
}
