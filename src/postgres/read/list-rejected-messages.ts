import { type CommonQueryMethods, sql } from 'slonik'
import { z } from 'zod'
import {
  type Rejected,
  type RejectedMessagePage,
  rejectionRecord,
} from '../../core/event/rejected-message.ts'
import { isoTime } from '../sql/columns.ts'

export interface RejectedFilter {
  readonly ids: readonly bigint[] | null
  readonly topic: string | null
  readonly code: string | null
  /** Rejected at this time or later, ISO 8601. */
  readonly since: string | null
  /** Only messages that no redrive or dismissal has settled. */
  readonly open: boolean
}

/** Bytes as base64, for a JSON or text column of a result. */
const base64 = z
  .string()
  .nullable()
  .transform((text) => (text === null ? null : Buffer.from(text, 'base64')))
const commonRow = rejectionRecord.extend({ offset: z.bigint() })

const rejectedRow = commonRow
  .extend({ key: base64, value: base64, headers: z.record(z.string(), z.array(base64)) })
  .transform(
    ({ offset, key, value, headers, ...rest }): Rejected => ({
      ...rest,
      message: { offset, key, value, headers },
    }),
  )

const summaryRow = commonRow.extend({ byteCount: z.number().nullable(), begin: base64 })

/** Rejected messages with ids after `after`, oldest first, each complete and with its last redrive. */
export function readRejected(
  pool: CommonQueryMethods,
  filter: RejectedFilter,
  after: bigint,
  countMax: number,
): Promise<readonly Rejected[]> {
  return pool.any(sql.type(rejectedRow)`
    SELECT ${COMMON_COLUMNS}, encode(key, 'base64') AS key, encode(value, 'base64') AS value, headers
    FROM ${WITH_LAST_REDRIVE}
    WHERE rejected_message.id > ${after} AND ${conditions(filter)}
    ORDER BY rejected_message.id
    LIMIT ${countMax}`)
}

const BEGIN_BYTES = 256

/** One page of rejected messages with ids before `before` (null: from the newest on), newest first. */
export async function listRejected(
  pool: CommonQueryMethods,
  filter: RejectedFilter,
  { limit, after }: { readonly limit: number; readonly after: bigint | null },
): Promise<RejectedMessagePage> {
  const rows = await pool.any(sql.type(summaryRow)`
    SELECT
      ${COMMON_COLUMNS}, octet_length(value) AS "byteCount", encode(substring(value FOR ${BEGIN_BYTES}), 'base64') AS begin
    FROM ${WITH_LAST_REDRIVE}
    WHERE ${conditions(filter)} ${after === null ? sql.fragment`` : sql.fragment`AND rejected_message.id < ${after}`}
    ORDER BY rejected_message.id DESC
    LIMIT ${limit + 1}`)
  const items = rows.slice(0, limit)
  return { items, next: rows.length > limit ? (items.at(-1)?.id ?? null) : null }
}

const COMMON_COLUMNS = sql.fragment`
  rejected_message.id, topic, partition_id AS partition, "offset", rejected_message.code, rejected_message.error,
  rejected_at AS "rejectedAt", erased_at AS "erasedAt",
  CASE WHEN last.id IS NOT NULL THEN json_build_object(
    'at', ${isoTime(sql.fragment`redriven_at`)}, 'by', redriven_by, 'result', json_strip_nulls(json_build_object(
      'result', result, 'locator', locator, 'code', last.code, 'error', last.error
    ))
  ) END AS redriven`
const WITH_LAST_REDRIVE = sql.fragment`
  notifications.rejected_message
  LEFT JOIN LATERAL (
    SELECT * FROM notifications.redrive
    WHERE rejected_message_id = rejected_message.id ORDER BY id DESC LIMIT 1
  ) AS last ON true`

export function countRejectedMessages(pool: CommonQueryMethods, filter: RejectedFilter): Promise<number> {
  return pool.oneFirst(sql.type(z.object({ count: z.number() }))`
    SELECT count(*)::integer AS count FROM notifications.rejected_message WHERE ${conditions(filter)}`)
}

export function conditions({ ids, topic, code, since, open }: RejectedFilter) {
  const all = [
    ids && sql.fragment`rejected_message.id = ANY(${sql.array(ids, 'int8')})`,
    topic && sql.fragment`topic = ${topic}`,
    code && sql.fragment`rejected_message.code = ${code}`,
    since && sql.fragment`rejected_at >= ${since}::timestamptz`,
    open &&
      sql.fragment`NOT EXISTS (
        SELECT FROM notifications.redrive
        WHERE rejected_message_id = rejected_message.id AND result <> 'rejected'
      )`,
  ].filter((condition) => condition !== null && condition !== false && condition !== '')
  return all.length === 0 ? sql.fragment`true` : sql.join(all, sql.fragment` AND `)
}
