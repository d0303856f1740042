import { type DatabasePool, sql } from 'slonik'
import { z } from 'zod'
import { sqlArray } from '../../service/store/sql/columns.ts'
import { type Naming, namesIn, namesInPart } from './names-in-text.ts'

const idRow = z.object({ id: z.bigint() })

export function findRequests(pool: DatabasePool, naming: Naming): Promise<readonly bigint[]> {
  return pool.anyFirst(sql.type(idRow)`
    SELECT id FROM notifications.request JOIN ${found(naming)} ON id = found_id WHERE ${isFound(naming)}`)
}

/** The reason of a request until its copies in decisions are erased, too. */
const BEING_ERASED = 'being erased'

/**
 * Blanks the reason of requests that name a person, and the person's names in their filters. An open request whose filter changes
 * is cancelled: it must not go on for other entries. `eraseCopiedReasons` completes it.
 */
export async function eraseRequests(
  pool: DatabasePool,
  naming: Naming,
  ids: readonly bigint[],
): Promise<void> {
  const isOpen = sql.fragment`filter IS NOT NULL AND ended_at IS NULL`
  await pool.query(sql.unsafe`
    UPDATE notifications.request
    SET because = ${BEING_ERASED},
      target = CASE WHEN filter IS NULL THEN target ELSE jsonb_set(target, '{filter}', filter) END,
      state = CASE WHEN ${isOpen} THEN 'cancelled' ELSE state END,
      note = CASE
        WHEN ${isOpen} THEN 'a member whom its filter named was erased'
        WHEN ${namesIn(sql.fragment`note`, naming)} THEN 'erased'
        ELSE note
      END,
      taken_until = CASE WHEN ${isOpen} THEN NULL ELSE taken_until END,
      ended_at = CASE WHEN ${isOpen} THEN clock_timestamp() ELSE ended_at END
    FROM ${found(naming)} WHERE id = found_id AND id = ANY(${sqlArray('int8', ids)})`)
}

const PAGE_COUNT_MAX = 10_000

/**
 * Blanks the copies that decisions have of the reasons that `eraseRequests` blanked, also those of an erasure that was interrupted.
 * A request's page in progress has ended by then, and the next one has no reason to copy.
 */
export async function eraseCopiedReasons(pool: DatabasePool): Promise<void> {
  const requests = await pool.anyFirst(sql.type(idRow)`
    SELECT id FROM notifications.request WHERE because = ${BEING_ERASED} ORDER BY id`)
  for (const request of requests) {
    for (let after: string | null = ''; after !== null; ) {
      const page: readonly string[] = await pool.anyFirst(sql.type(z.object({ locator: z.string() }))`
        SELECT locator FROM notifications.decision
        WHERE request_id = ${request} AND locator > ${after} ORDER BY locator LIMIT ${PAGE_COUNT_MAX}`)
      await pool.query(sql.unsafe`
        UPDATE notifications.decision SET retried_because = 'erased'
        WHERE locator = ANY(${sqlArray('text', page)}) AND request_id = ${request} AND retried_because <> 'erased'`)
      after = page.length < PAGE_COUNT_MAX ? null : (page.at(-1) ?? null)
    }
    await pool.query(sql.unsafe`
      UPDATE notifications.request SET because = 'erased' WHERE id = ${request} AND because = ${BEING_ERASED}`)
  }
}

/** The names of log entries: locators, event ids and references. Erased entries have no reference. */
export function readNames(pool: DatabasePool, locators: readonly string[]): Promise<readonly string[]> {
  const isNamed = sql.fragment`locator = ANY(${sqlArray('text', locators)})`
  return pool.anyFirst(sql.type(z.object({ name: z.string() }))`
    SELECT locator AS name FROM notifications.decision WHERE ${isNamed}
    UNION SELECT event_id FROM notifications.decision WHERE ${isNamed}
    UNION SELECT variables ->> 'locator' FROM notifications.decision WHERE ${isNamed} AND variables ->> 'locator' IS NOT NULL`)
}

/** Each request with its filter after the erasure; null if the filter names nobody. */
function found(naming: Naming) {
  const isNaming = namesInPart(sql.fragment`name`, sql.fragment`(value #>> '{}')`, naming)
  return sql.fragment`(
    SELECT id AS found_id, (
      SELECT jsonb_object_agg(name, CASE WHEN ${isNaming} THEN '"erased"' ELSE value END)
      FROM jsonb_each(target -> 'filter') AS part (name, value) HAVING bool_or(${isNaming})
    ) AS filter
    FROM notifications.request
  ) AS found`
}

/** The note of a hold contains the reason for its end. */
function isFound({ names = [], ids = [], word, texts = [] }: Naming) {
  return sql.fragment`(
    filter IS NOT NULL OR ${namesIn(sql.fragment`note`, { names, word, texts })} OR because <> 'erased' AND (
      ${namesIn(sql.fragment`because`, { names, word, texts })} OR ${isNamed('locators', names)}
      OR ${isNamed('ids', ids.map(String))}
    )
  )`
}

/** Hashes the names, since `?|` would compare each with each. */
function isNamed(list: 'locators' | 'ids', names: readonly string[]) {
  return sql.fragment`EXISTS (
    SELECT FROM jsonb_array_elements_text(target -> ${list}) AS item WHERE item = ANY(${sqlArray('text', names)})
  )`
}
