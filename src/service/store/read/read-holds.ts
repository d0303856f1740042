import { type CommonQueryMethods, sql } from 'slonik'
import { z } from 'zod'
import { storedHold } from '../../model/request/hold.ts'
import { REQUEST_KINDS } from '../../model/request/schemas.ts'
import { isoTime, sqlArray } from '../sql/columns.ts'

/** A row with the holds that `selectHolds` selects. */
export const holdsRow = z.object({ holds: z.array(storedHold) })

/**
 * Subquery for the holds in force, oldest first. An open request of an unknown kind counts as one, since it may be a later
 * version's hold.
 */
export function selectHolds() {
  return sql.fragment`(
    SELECT coalesce(json_agg(json_build_object(
      'id', id::text, 'kind', kind, 'target', target, 'by', requested_by, 'because', because,
      'requestedAt', ${isoTime(sql.fragment`requested_at`)}
    ) ORDER BY id), '[]')
    FROM notifications.request WHERE ended_at IS NULL AND kind <> ALL(${sqlArray('text', REQUEST_KINDS)})
  ) AS holds`
}

/** The holds in force, oldest first. */
export async function readHolds(connection: CommonQueryMethods): Promise<z.infer<typeof holdsRow>['holds']> {
  return (await connection.one(sql.prepared('read-holds', holdsRow)`SELECT ${selectHolds()}`)).holds
}
