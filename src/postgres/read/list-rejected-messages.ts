import { type DatabasePool, sql } from 'slonik'
import { z } from 'zod'
import type {
  RedriveResult,
  Rejected,
  RejectedMessagePage,
  RejectedMessageSummary,
} from '../../core/event/rejected-message.ts'

/** What is asked for; null asks for all. */
export interface RejectedFilter {
  readonly ids: readonly bigint[] | null
  readonly topic: string | null
  readonly code: string | null
  /** Rejected at this time or later, ISO 8601. */
  readonly since: string | null
  /** Only those that no redrive has settled. */
  readonly open: boolean
}

/** Bytes as base64, which a JSON or a text column of a result can hold. */
export const base64 = z
  .string()
  .nullable()
  .transform((text) => (text === null ? null : Buffer.from(text, 'base64')))
const commonRow = z.object({
  id: z.bigint(),
  topic: z.string(),
  partition_id: z.number(),
  offset: z.bigint(),
  code: z.string(),
  error: z.string(),
  rejected_at: z.string(),
  erased_at: z.string().nullable(),
  redriven_at: z.string().nullable(),
  redriven_by: z.string().nullable(),
  result: z.enum(['logged', 'duplicate', 'rejected']).nullable(),
  locator: z.string().nullable(),
  redrive_code: z.string().nullable(),
  redrive_error: z.string().nullable(),
})
type CommonRow = z.infer<typeof commonRow>

const rejectedRow = commonRow
  .extend({ key: base64, value: base64, headers: z.record(z.string(), z.array(base64)) })
  .transform(
    (row): Rejected => ({
      ...commonOf(row),
      message: { offset: row.offset, key: row.key, value: row.value, headers: row.headers },
    }),
  )

const headRow = commonRow.extend({ byte_count: z.number().nullable(), begin: base64 }).transform(
  (row): RejectedMessageSummary => ({
    ...commonOf(row),
    offset: row.offset,
    byteCount: row.byte_count,
    begin: row.begin,
  }),
)

/** What both have: everything but the message. */
function commonOf(row: CommonRow): Omit<Rejected, 'message'> {
  return {
    id: row.id,
    topic: row.topic,
    partition: row.partition_id,
    code: row.code,
    error: row.error,
    rejectedAt: row.rejected_at,
    erasedAt: row.erased_at,
    redriven:
      row.redriven_at === null || row.redriven_by === null
        ? null
        : { at: row.redriven_at, by: row.redriven_by, result: resultOf(row) },
  }
}

function resultOf(row: CommonRow): RedriveResult {
  if (row.result === 'logged' && row.locator !== null) return { result: 'logged', locator: row.locator }
  if (row.result !== 'rejected') return { result: 'duplicate' }
  return { result: 'rejected', code: row.redrive_code ?? '', error: row.redrive_error ?? '' }
}

/** Rejected messages after `after` by id, oldest first, each with its last redrive. Messages are read whole. */
export function readRejected(
  pool: DatabasePool,
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

/** Of a value so much is shown where it is not read whole. */
const BEGIN_BYTES = 256

/** One page of rejected messages before `after` by id (null: from the newest on), newest first. */
export async function listRejected(
  pool: DatabasePool,
  filter: RejectedFilter,
  { limit, after }: { readonly limit: number; readonly after: bigint | null },
): Promise<RejectedMessagePage> {
  const rows = await pool.any(sql.type(headRow)`
    SELECT
      ${COMMON_COLUMNS}, octet_length(value) AS byte_count, encode(substring(value FOR ${BEGIN_BYTES}), 'base64') AS begin
    FROM ${WITH_LAST_REDRIVE}
    WHERE ${conditions(filter)} ${after === null ? sql.fragment`` : sql.fragment`AND rejected_message.id < ${after}`}
    ORDER BY rejected_message.id DESC
    LIMIT ${limit + 1}`)
  const items = rows.slice(0, limit)
  return { items, next: rows.length > limit ? (items.at(-1)?.id ?? null) : null }
}

const COMMON_COLUMNS = sql.fragment`
  rejected_message.id, topic, partition_id, "offset", rejected_message.code, rejected_message.error, rejected_at,
  erased_at, redriven_at, redriven_by, result, locator, last.code AS redrive_code, last.error AS redrive_error`
const WITH_LAST_REDRIVE = sql.fragment`
  notifications.rejected_message
  LEFT JOIN LATERAL (
    SELECT * FROM notifications.redrive
    WHERE rejected_message_id = rejected_message.id ORDER BY id DESC LIMIT 1
  ) AS last ON true`

/** How many there are. */
export function countRejectedMessages(pool: DatabasePool, filter: RejectedFilter): Promise<number> {
  return pool.oneFirst(sql.type(z.object({ count: z.number() }))`
    SELECT count(*)::integer AS count FROM notifications.rejected_message WHERE ${conditions(filter)}`)
}

function conditions({ ids, topic, code, since, open }: RejectedFilter) {
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
