import { type CommonQueryMethods, type FragmentSqlToken, sql } from 'slonik'
import { z } from 'zod'
import {
  type RejectedMessageSummary,
  type RejectedPage,
  rejectionRecord,
  type StoredRejectedMessage,
} from '../../decide/event/rejected-message.ts'
import type { ListPage, PageRequest } from '../../model/log/log-page.ts'
import type { RejectedTarget } from '../../model/request/schemas.ts'
import { isoTime } from '../sql/columns.ts'
import { jsonBytes, textBytes, withinBytes } from '../sql/page-bytes.ts'

export interface RejectedFilter {
  readonly ids: readonly bigint[] | null
  readonly topic: string | null
  readonly code: string | null
  /** Rejected at this time or later, ISO 8601. */
  readonly since: string | null
  /** Rejected earlier, ISO 8601. */
  readonly before: string | null
  /** The highest id. */
  readonly upTo: bigint | null
  /** Only messages that no redrive or dismissal has settled. */
  readonly open: boolean
  /** Only messages that are not erased. */
  readonly kept: boolean
}

export const ALL_REJECTED: RejectedFilter = {
  ids: null,
  topic: null,
  code: null,
  since: null,
  before: null,
  upTo: null,
  open: false,
  kept: false,
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
    ({ offset, key, value, headers, ...rest }): StoredRejectedMessage => ({
      ...rest,
      message: { offset, key, value, headers },
    }),
  )

const summaryRow = commonRow.extend({ byteCount: z.number().nullable(), begin: base64, found: z.int() })

const READ_COUNT_MAX = 1_000
/** Without this limit, a page of open messages could read millions of settled ones. Examining this many takes about 20 ms. */
const EXAMINED_COUNT_MAX = 10_000

/** Rejected messages, oldest first, each complete and with its last redrive, page by page. */
export async function* readRejected(
  pool: CommonQueryMethods,
  filter: RejectedFilter,
): AsyncGenerator<readonly StoredRejectedMessage[]> {
  for (let next: bigint | null = 0n; next !== null; ) {
    const page: RejectedPage = await readRejectedPage(pool, filter, next, READ_COUNT_MAX)
    if (page.messages.length > 0) yield page.messages
    next = page.next
  }
}

/**
 * The next rejected messages after an id, in the order of ids: at most `countMax` and `PAGE_BYTES_MAX`, found among the next
 * `EXAMINED_COUNT_MAX`.
 */
export async function readRejectedPage(
  pool: CommonQueryMethods,
  filter: RejectedFilter,
  after: bigint,
  countMax: number,
): Promise<RejectedPage> {
  const lastExamined = await findLastExamined(pool, filter, after)
  const bytes = sql.fragment`(
    ${textBytes(sql.fragment`key`, sql.fragment`value`)} + ${jsonBytes(sql.fragment`headers`)} + ${ERROR_BYTES})`
  const found = sql.fragment`
    SELECT * FROM ${messagesAfter(filter, after, lastExamined)} AS rejected_message
    WHERE ${rejectedConditions(filter)} ORDER BY id LIMIT ${countMax}`
  const messages = await pool.any(sql.type(rejectedRow)`
    SELECT ${COMMON_COLUMNS}, encode(key, 'base64') AS key, encode(value, 'base64') AS value, headers
    FROM (${withinBytes(found, sql.fragment`id`, bytes)}) AS rejected_message ${LAST_REDRIVE}
    ORDER BY rejected_message.id`)
  return { messages, next: messages.at(-1)?.id ?? lastExamined }
}

/** The last id that a page examines, `countMax` ids after another one; null if it examines all. */
export async function findLastExamined(
  pool: CommonQueryMethods,
  { ids }: RejectedFilter,
  after: bigint,
  countMax = EXAMINED_COUNT_MAX,
): Promise<bigint | null> {
  // Named ones are looked up by their key.
  return ids === null ? skipIds(pool, sql.fragment`id > ${after} ORDER BY id`, countMax) : null
}

function skipIds(pool: CommonQueryMethods, ordered: FragmentSqlToken, count: number): Promise<bigint | null> {
  return pool.maybeOneFirst(sql.type(z.object({ id: z.bigint() }))`
    SELECT id FROM notifications.rejected_message WHERE ${ordered} OFFSET ${count - 1} LIMIT 1`)
}

/** The messages between two ids (null: to the end) that a page examines. */
export function messagesAfter({ ids }: RejectedFilter, after: bigint, lastExamined: bigint | null) {
  const upTo = lastExamined === null ? sql.fragment`true` : sql.fragment`id <= ${lastExamined}`
  const range = sql.fragment`id > ${after} AND ${upTo}`
  return ids === null
    ? messagesIn(sql.fragment`${range} ORDER BY id`)
    : sql.fragment`(SELECT * FROM notifications.rejected_message WHERE ${range})`
}

/** The messages of a range of ids. OFFSET keeps the planner from reading a whole topic by position instead. */
function messagesIn(ordered: FragmentSqlToken) {
  return sql.fragment`(SELECT * FROM notifications.rejected_message WHERE ${ordered} OFFSET 0)`
}

/** The messages of a request. Messages given by id, whatever their last result, or else the unsettled ones. */
export function toRejectedFilter(target: RejectedTarget): RejectedFilter {
  if ('ids' in target) return { ...ALL_REJECTED, ids: target.ids.map(BigInt) }
  const { topic = null, code = null, since = null, before = null, upTo } = target.filter
  return { ...ALL_REJECTED, topic, code, since, before, upTo: BigInt(upTo), open: true }
}

const BEGIN_BYTES = 256

/**
 * One page of rejected messages with ids before `after` (null: from the newest on), newest first, at most `PAGE_BYTES_MAX`.
 * Examines `EXAMINED_COUNT_MAX` messages, so a page may be short or empty without being the last.
 */
export async function listRejected(
  pool: CommonQueryMethods,
  filter: RejectedFilter,
  { limit, after }: PageRequest<bigint>,
): Promise<ListPage<RejectedMessageSummary, bigint>> {
  const older = after === null ? sql.fragment`true` : sql.fragment`id < ${after}`
  const lastExamined = await skipIds(pool, sql.fragment`${older} ORDER BY id DESC`, EXAMINED_COUNT_MAX)
  const found = sql.fragment`
    SELECT * FROM ${messagesIn(sql.fragment`${older} AND id >= ${lastExamined ?? 0n} ORDER BY id DESC`)} AS rejected_message
    WHERE ${rejectedConditions(filter)} ORDER BY id DESC LIMIT ${limit + 1}`
  const rows = await pool.any(sql.type(summaryRow)`
    SELECT
      ${COMMON_COLUMNS}, octet_length(value) AS "byteCount", encode(substring(value FOR ${BEGIN_BYTES}), 'base64') AS begin,
      found
    FROM (${withinBytes(found, sql.fragment`id DESC`, ERROR_BYTES)}) AS rejected_message ${LAST_REDRIVE}
    ORDER BY rejected_message.id DESC`)
  const items = rows.slice(0, limit).map(({ found: _, ...item }) => item)
  const isMore = items.length < (rows[0]?.found ?? 0)
  return { items, next: (isMore ? items.at(-1)?.id : lastExamined) ?? null }
}

/** The error may contain anything from a trigger. */
const ERROR_BYTES = sql.fragment`(${textBytes(sql.fragment`error`)} + coalesce((
  SELECT max(octet_length(redrive.error)) FROM notifications.redrive WHERE rejected_message_id = found_row.id
), 0))`

const COMMON_COLUMNS = sql.fragment`
  rejected_message.id, topic, partition_id AS partition, "offset", rejected_message.code, rejected_message.error,
  rejected_at AS "rejectedAt", erased_at AS "erasedAt",
  CASE WHEN last.id IS NOT NULL THEN json_build_object(
    'at', ${isoTime(sql.fragment`redriven_at`)}, 'by', redriven_by, 'result', json_strip_nulls(json_build_object(
      'result', result, 'locator', locator, 'code', last.code, 'error', last.error
    ))
  ) END AS redriven`
const LAST_REDRIVE = sql.fragment`
  LEFT JOIN LATERAL (
    SELECT * FROM notifications.redrive
    WHERE rejected_message_id = rejected_message.id ORDER BY id DESC LIMIT 1
  ) AS last ON true`

/** Counting among this many takes about 0.4 s. */
const COUNTED_COUNT_MAX = 200_000

/** Counts among the newest messages; `isAll`: no older ones exist. */
export async function countRejectedMessages(
  pool: CommonQueryMethods,
  filter: RejectedFilter,
  examinedMax = COUNTED_COUNT_MAX,
): Promise<{ readonly count: number; readonly isAll: boolean }> {
  const lastExamined = await skipIds(pool, sql.fragment`true ORDER BY id DESC`, examinedMax)
  const count = await pool.oneFirst(sql.type(z.object({ count: z.number() }))`
    SELECT count(*)::integer AS count
    FROM ${messagesIn(sql.fragment`id >= ${lastExamined ?? 0n} ORDER BY id`)} AS rejected_message
    WHERE ${rejectedConditions(filter)}`)
  return { count, isAll: lastExamined === null }
}

export function rejectedConditions({ ids, topic, code, since, before, upTo, open, kept }: RejectedFilter) {
  const conditions = [
    ids && sql.fragment`rejected_message.id = ANY(${sql.array(ids, 'int8')})`,
    topic && sql.fragment`topic = ${topic}`,
    code && sql.fragment`rejected_message.code = ${code}`,
    since && sql.fragment`rejected_at >= ${since}::timestamptz`,
    before && sql.fragment`rejected_at < ${before}::timestamptz`,
    upTo !== null && sql.fragment`rejected_message.id <= ${upTo}`,
    open &&
      // As a join, the planner may read all redrives for a page.
      sql.fragment`(
        SELECT true FROM notifications.redrive
        WHERE rejected_message_id = rejected_message.id AND result <> 'rejected' LIMIT 1
      ) IS NULL`,
    kept && sql.fragment`erased_at IS NULL`,
  ].filter((condition) => condition !== null && condition !== false && condition !== '')
  return conditions.length === 0 ? sql.fragment`true` : sql.join(conditions, sql.fragment` AND `)
}
