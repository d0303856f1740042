import { type CommonQueryMethods, type FragmentSqlToken, sql } from 'slonik'
import { z } from 'zod'
import type { LoggedRow } from '../../decide/event/conflict.ts'
import { sqlArray } from '../sql/columns.ts'
import { selectLastDecision } from '../sql/log-columns.ts'

export const foundRow = z
  .object({
    eventId: z.string(),
    locator: z.string(),
    eventType: z.string(),
    partyLocator: z.string().nullable(),
    reference: z.string().nullable(),
    reason: z.string().nullable(),
    topic: z.string().nullable(),
    partition: z.number().nullable(),
    offset: z.coerce.bigint().nullable(),
    envelopeMapRevision: z.string().nullable(),
    erased: z.boolean(),
  })
  .transform(({ topic, partition, offset, ...row }): LoggedRow => {
    const isKnown = topic !== null && partition !== null && offset !== null
    return { ...row, origin: isKnown ? { topic, partition, offset } : null }
  })

/** The rows of events, with the message data in each row's last decision. An offset is a text, since JSON would round it. */
export function selectRows(eventIds: readonly string[]): FragmentSqlToken {
  const last = selectLastDecision(
    sql.fragment`variables, topic, partition_id, "offset", envelope_map_revision, erased_at`,
  )
  return sql.fragment`
    SELECT
      event_id AS "eventId", locator, event_type AS "eventType", party_locator AS "partyLocator",
      last.variables ->> 'locator' AS reference, last.variables ->> 'reason' AS reason, last.topic,
      last.partition_id AS partition, last."offset"::text, last.envelope_map_revision AS "envelopeMapRevision",
      last.erased_at IS NOT NULL AS erased
    FROM notifications.notification_log LEFT JOIN LATERAL (${last}) AS last ON true
    WHERE event_id = ANY(${sqlArray('text', eventIds)})`
}

/** @internal */
export function findRowsQuery(eventIds: readonly string[]) {
  return sql.prepared('find-rows', foundRow)`${selectRows(eventIds)}`
}

/** By event id. */
export async function findRows(
  pool: CommonQueryMethods,
  eventIds: readonly string[],
): Promise<ReadonlyMap<string, LoggedRow>> {
  const rows = await pool.any(findRowsQuery(eventIds))
  return new Map(rows.map((row) => [row.eventId, row]))
}
