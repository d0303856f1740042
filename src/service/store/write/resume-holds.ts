import { type CommonQueryMethods, sql } from 'slonik'
import { z } from 'zod'
import { storable } from '../../text/sanitize.ts'
import { sqlArray } from '../sql/columns.ts'

const idRow = z.object({ id: z.string() })

/** Ends holds. Returns the ids of those that had not ended; another version's requests go on. */
export function resumeHolds(
  pool: CommonQueryMethods,
  ids: readonly string[],
  by: string,
  because: string,
): Promise<readonly string[]> {
  const note = storable(`resumed by ${by}${because === '' ? '' : `: ${because}`}`)
  return pool.anyFirst(sql.type(idRow)`
    UPDATE notifications.request SET state = 'done', ended_at = clock_timestamp(), note = ${note}
    WHERE id = ANY(${sqlArray('int8', ids)}) AND kind = 'hold' AND ended_at IS NULL RETURNING id::text`)
}
