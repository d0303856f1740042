import { type DatabasePool, sql } from 'slonik'
import { z } from 'zod'
import { sqlArray } from '../../service/store/sql/columns.ts'

/** By what a request may name a person. */
export interface Naming {
  /** Party, references, event ids and locators of log entries. */
  readonly names?: readonly string[]
  /** The party, as a word within a text. */
  readonly word?: string
  /** Rejected messages. */
  readonly ids?: readonly bigint[]
}

/** The texts of a stored filter that may name a person. */
const NAMING_FILTERS = ['locator', 'partyLocator', 'eventId', 'reference', 'reason', 'reasonPrefix']

const idRow = z.object({ id: z.bigint() })

export function findRequests(pool: DatabasePool, naming: Naming): Promise<readonly bigint[]> {
  return pool.anyFirst(sql.type(idRow)`
    SELECT id FROM notifications.request JOIN ${found(naming)} ON id = found_id WHERE ${isFound(naming)}`)
}

/**
 * Blanks the reason of requests that name a person, and what names her in their filters; returns their ids. An open one whose filter
 * changes is cancelled: it must not go on for others than was asked.
 */
export function eraseRequests(pool: DatabasePool, naming: Naming): Promise<readonly bigint[]> {
  const isOpen = sql.fragment`filter IS NOT NULL AND ended_at IS NULL`
  return pool.anyFirst(sql.type(idRow)`
    UPDATE notifications.request
    SET because = 'erased',
      target = CASE WHEN filter IS NULL THEN target ELSE jsonb_set(target, '{filter}', filter) END,
      state = CASE WHEN ${isOpen} THEN 'cancelled' ELSE state END,
      note = CASE WHEN ${isOpen} THEN 'a member whom its filter named was erased' ELSE note END,
      taken_until = CASE WHEN ${isOpen} THEN NULL ELSE taken_until END,
      ended_at = CASE WHEN ${isOpen} THEN clock_timestamp() ELSE ended_at END
    FROM ${found(naming)} WHERE id = found_id AND ${isFound(naming)} RETURNING id`)
}

/** The names of log entries: their locators, event ids and references. Erased ones have no reference any more. */
export function readNames(pool: DatabasePool, locators: readonly string[]): Promise<readonly string[]> {
  const these = sql.fragment`locator = ANY(${sqlArray('text', locators)})`
  return pool.anyFirst(sql.type(z.object({ name: z.string() }))`
    SELECT locator AS name FROM notifications.decision WHERE ${these}
    UNION SELECT event_id FROM notifications.decision WHERE ${these}
    UNION SELECT variables ->> 'locator' FROM notifications.decision WHERE ${these} AND variables ->> 'locator' IS NOT NULL`)
}

/** Each request, with its filter as it is after the erasure; null if that names nobody. */
function found({ names = [], word }: Naming) {
  const text = sql.fragment`(value #>> '{}')`
  const isHers = sql.fragment`(
    name = ANY(${sqlArray('text', NAMING_FILTERS)})
    AND (${text} = ANY(${sqlArray('text', names)}) OR coalesce(${text} ~ ${pattern(word)}, false))
  )`
  return sql.fragment`(
    SELECT id AS found_id, (
      SELECT jsonb_object_agg(name, CASE WHEN ${isHers} THEN '"erased"' ELSE value END)
      FROM jsonb_each(target -> 'filter') AS part (name, value) HAVING bool_or(${isHers})
    ) AS filter
    FROM notifications.request
  ) AS found`
}

function isFound({ names = [], word, ids = [] }: Naming) {
  return sql.fragment`(
    filter IS NOT NULL OR because <> 'erased' AND (
      because ~ ${pattern(word)} OR target -> 'locators' ?| ${sqlArray('text', names)}
      OR target -> 'ids' ?| ${sqlArray('text', ids.map(String))}
    )
  )`
}

/** A regular expression of PostgreSQL for a word. */
function pattern(word: string | undefined): string | null {
  return word === undefined ? null : `(?<![\\w-])${word.replaceAll(/[!-/:-@[-`{-~]/g, '\\$&')}(?![\\w-])`
}
