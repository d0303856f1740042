import { type CommonQueryMethods, sql } from 'slonik'
import type { ListPage, PageRequest } from '../../service/model/log/log-page.ts'
import { type StoredRequest, storedRequest } from '../../service/model/request/schemas.ts'

const COLUMNS = sql.fragment`
  id::text, kind, target, requested_by AS by, because, requested_at AS "requestedAt", state, counts, unchanged, note,
  ended_at AS "endedAt"`

export function getRequest(pool: CommonQueryMethods, id: string): Promise<StoredRequest | null> {
  return pool.maybeOne(sql.type(storedRequest)`
    SELECT ${COLUMNS} FROM notifications.request WHERE id = ${id}::bigint`)
}

/** Requests with ids before `after` (null: from the newest on), newest first. `next` is the `after` of the next page. */
export async function listRequests(
  pool: CommonQueryMethods,
  { limit, after }: PageRequest<string>,
): Promise<ListPage<StoredRequest, string>> {
  const found = await pool.any(sql.type(storedRequest)`
    SELECT ${COLUMNS} FROM notifications.request
    WHERE ${after === null ? sql.fragment`true` : sql.fragment`id < ${after}::bigint`}
    ORDER BY request.id DESC LIMIT ${limit + 1}`)
  const items = found.slice(0, limit)
  return { items, next: found.length > limit ? (items.at(-1)?.id ?? null) : null }
}
