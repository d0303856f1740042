import { type DatabasePool, sql } from 'slonik'
import { z } from 'zod'
import { isoTime, sqlArray } from '../../service/store/sql/columns.ts'

const row = z.record(z.string(), z.unknown())
type Row = Readonly<z.infer<typeof row>>

/** Requests without data about others: their lists and the names of operators. */
export function readRequests(pool: DatabasePool, ids: readonly bigint[]): Promise<readonly Row[]> {
  return pool.any(sql.type(row)`
    SELECT id::text, kind AS action, because, note, target -> 'filter' AS filter, state,
      ${isoTime(sql.fragment`requested_at`)} AS "requestedAt"
    FROM notifications.request WHERE id = ANY(${sqlArray('int8', ids)}) ORDER BY request.id`)
}

export function readCheckpointChanges(pool: DatabasePool, ids: readonly bigint[]): Promise<readonly Row[]> {
  return pool.any(sql.type(row)`
    SELECT id::text, topic, partition_id AS partition, because, ${isoTime(sql.fragment`changed_at`)} AS "changedAt"
    FROM notifications.checkpoint_change WHERE id = ANY(${sqlArray('int8', ids)}) ORDER BY checkpoint_change.id`)
}

/** Changes that a party made to others' preferences, without their content. */
export function readChangesForOthers(pool: DatabasePool, party: string): Promise<readonly Row[]> {
  return pool.any(sql.type(row)`
    SELECT party_locator AS "partyLocator", ${isoTime(sql.fragment`changed_at`)} AS "changedAt"
    FROM notifications.preference_change WHERE changed_by = ${party} AND party_locator <> ${party} ORDER BY id`)
}

/** Decisions of an entry that has no row in the log. */
export function readDecisions(pool: DatabasePool, locator: string): Promise<readonly Row[]> {
  return pool.anyFirst(sql.type(z.object({ decision: row }))`
    SELECT to_jsonb(decision) AS decision FROM notifications.decision WHERE locator = ${locator} ORDER BY attempt`)
}
