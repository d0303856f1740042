import { type CommonQueryMethods, sql } from 'slonik'
import { z } from 'zod'
import { arrayOf } from '../sql/columns.ts'

const rowOf = z
  .object({
    eventId: z.string(),
    locator: z.string(),
    eventType: z.string(),
    partyLocator: z.string().nullable(),
    topic: z.string().nullable(),
    partition: z.number().nullable(),
    offset: z.bigint().nullable(),
    envelopeMapRevision: z.string().nullable(),
    erased: z.boolean(),
  })
  .transform(({ topic, partition, offset, ...row }) => ({
    ...row,
    origin: topic === null || partition === null || offset === null ? null : { topic, partition, offset },
  }))

/** The rows of events, with the message data in each row's first decision. */
export function findRowsQuery(eventIds: readonly string[]) {
  return sql.prepared('find-rows', rowOf)`
    SELECT
      entry.event_id AS "eventId", entry.locator, entry.event_type AS "eventType",
      entry.party_locator AS "partyLocator", first.topic, first.partition_id AS partition, first."offset",
      first.envelope_map_revision AS "envelopeMapRevision", first.erased_at IS NOT NULL AS erased
    FROM notifications.notification_log AS entry
    LEFT JOIN LATERAL (
      SELECT topic, partition_id, "offset", envelope_map_revision, erased_at FROM notifications.decision
      WHERE decision.locator = entry.locator ORDER BY attempt LIMIT 1
    ) AS first ON true
    WHERE entry.event_id = ANY(${arrayOf('text', eventIds)})`
}

export async function findRows(pool: CommonQueryMethods, eventIds: readonly string[]) {
  const rows = await pool.any(findRowsQuery(eventIds))
  return new Map(rows.map((row) => [row.eventId, row]))
}
