import { type CommonQueryMethods, sql } from 'slonik'
import { z } from 'zod'
import { sqlArray } from '../sql/columns.ts'

const found = z.object({ eventType: z.string() })

/** The event types among these that a log entry has. */
export async function findEventTypes(
  pool: CommonQueryMethods,
  eventTypes: readonly string[],
): Promise<readonly string[]> {
  const rows = await pool.any(sql.type(found)`
    SELECT event_type AS "eventType" FROM unnest(${sqlArray('text', eventTypes)}) AS wanted (event_type)
    WHERE EXISTS (SELECT FROM notifications.notification_log AS log WHERE log.event_type = wanted.event_type)`)
  return rows.map(({ eventType }) => eventType)
}
