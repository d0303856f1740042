import { type CommonQueryMethods, sql } from 'slonik'
import { z } from 'zod'
import { isoTime, sqlArray } from '../sql/columns.ts'

const EVENT_TYPE_COUNT_MAX = 200

const loggedType = z.object({ eventType: z.string(), lastAt: z.string() })
export type LoggedEventType = Readonly<z.infer<typeof loggedType>>

/** The event types in the log, each with the time of its newest entry, up to a readable number. */
export async function listEventTypes(connection: CommonQueryMethods): Promise<readonly LoggedEventType[]> {
  return connection.any(sql.type(loggedType)`
    WITH RECURSIVE walk AS (
      (SELECT event_type FROM notifications.notification_log ORDER BY event_type LIMIT 1)
      UNION ALL
      SELECT (
        SELECT event_type FROM notifications.notification_log WHERE event_type > walk.event_type ORDER BY event_type LIMIT 1
      ) FROM walk WHERE walk.event_type IS NOT NULL
    )
    SELECT event_type AS "eventType", (
      SELECT ${isoTime(sql.fragment`created_at`)} FROM notifications.notification_log AS newest
      WHERE newest.event_type = walk.event_type ORDER BY created_at DESC LIMIT 1
    ) AS "lastAt"
    FROM walk WHERE event_type IS NOT NULL LIMIT ${EVENT_TYPE_COUNT_MAX}`)
}

/** The given event types that have a log entry. */
export function findEventTypes(
  pool: CommonQueryMethods,
  eventTypes: readonly string[],
): Promise<readonly string[]> {
  return pool.anyFirst(sql.type(loggedType.pick({ eventType: true }))`
    SELECT event_type AS "eventType" FROM unnest(${sqlArray('text', eventTypes)}) AS wanted (event_type)
    WHERE (SELECT true FROM notifications.notification_log AS log WHERE log.event_type = wanted.event_type LIMIT 1)`)
}
