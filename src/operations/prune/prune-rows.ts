import { type DatabasePool, sql } from 'slonik'
import { z } from 'zod'
import { STATUSES, type Status } from '../../service/model/log/status.ts'
import { lockErasure } from '../../service/store/sql/advisory-locks.ts'
import { sqlArray } from '../../service/store/sql/columns.ts'
import { type GivenUpLimits, isToBeRetried } from '../../service/store/sql/given-up.ts'
import { lastLocatorAt } from '../../service/store/sql/locators.ts'
import { storable } from '../../service/text/sanitize.ts'

/** Pruning deletes everything older than `before`, except failed rows that are still retried. */
export interface PruneLimits extends GivenUpLimits {
  readonly before: string
}

export interface PruneCounts {
  readonly logEntries: number
  readonly decisions: number
  readonly rejectedMessages: number
  readonly requests: number
}

/** Limits transactions to a few milliseconds, so that they block nothing. */
const ROW_COUNT_MAX = 1_000
const ORPHAN_COUNT_MAX = 20_000
const NONE: PruneCounts = { logEntries: 0, decisions: 0, rejectedMessages: 0, requests: 0 }

/**
 * Records the start of a pruning, its author, and the checkpoint of each partition; returns its id. One statement, so that the
 * record lies after every deleted event and before every unread one. Earlier records that reach further stay: the checkpoint of a
 * recreated topic is lower.
 */
export function beginPruning(pool: DatabasePool, before: string, by: string): Promise<bigint> {
  return pool.oneFirst(sql.type(z.object({ id: z.bigint() }))`
    WITH processed AS (
      INSERT INTO notifications.pruned_partition AS pruned (topic, partition_id, before, through)
      SELECT topic, partition_id, ${before}::timestamptz, "offset" FROM notifications.projection_checkpoints
      ORDER BY topic, partition_id
      ON CONFLICT (topic, partition_id, through) DO UPDATE SET before = greatest(pruned.before, excluded.before)
    ),
    outdone AS (
      DELETE FROM notifications.pruned_partition AS pruned USING notifications.projection_checkpoints AS now
      WHERE (pruned.topic, pruned.partition_id) = (now.topic, now.partition_id)
        AND pruned.through < now."offset" AND pruned.before <= ${before}::timestamptz
    )
    INSERT INTO notifications.pruning (before, pruned_by) VALUES (${before}::timestamptz, ${storable(by)}) RETURNING id`)
}

export async function finishPruning(pool: DatabasePool, pruning: bigint): Promise<void> {
  await pool.query(
    sql.unsafe`UPDATE notifications.pruning SET finished_at = clock_timestamp() WHERE id = ${pruning}`,
  )
}

/**
 * Deletes rows older than the limit, one page per transaction. Yields the counts of each page and, except for requests, adds them
 * to the pruning's record. Without a pruning it only counts.
 */
export async function* prune(
  pool: DatabasePool,
  limits: PruneLimits,
  pruning: bigint | null,
): AsyncGenerator<PruneCounts> {
  // First, since a copy that could be redriven must not outlive the row which shows that its member was told.
  yield* pruneRejected(pool, limits, pruning)
  for (const status of STATUSES) yield* pruneEntries(pool, status, limits, pruning)
  yield* pruneOrphans(pool, limits, pruning)
  yield* pruneRequests(pool, limits, pruning)
  if (pruning === null) return
  yield* pruneRedrives(pool)
  await pruneReasons(pool, limits)
}

const entryRow = z.object({ createdAt: z.string(), locator: z.string(), decisions: z.number() })

/** Log entries with their decisions, the oldest first. Rows that another session has locked, or that are now due, stay. */
async function* pruneEntries(
  pool: DatabasePool,
  status: Status,
  limits: PruneLimits,
  pruning: bigint | null,
): AsyncGenerator<PruneCounts> {
  let after: Pick<z.infer<typeof entryRow>, 'createdAt' | 'locator'> = { createdAt: '-infinity', locator: '' }
  for (let count = ROW_COUNT_MAX; count === ROW_COUNT_MAX; ) {
    const page: readonly z.infer<typeof entryRow>[] = await pool.any(sql.type(entryRow)`
      SELECT created_at AS "createdAt", locator, (
        SELECT count(*)::integer FROM notifications.decision WHERE decision.locator = entry.locator
      ) AS decisions
      FROM notifications.notification_log AS entry
      WHERE status = ${status}
        AND (created_at, locator) > (${after.createdAt}::timestamptz, ${after.locator})
        AND created_at < ${limits.before}::timestamptz AND NOT ${isToBeRetried(limits)}
      ORDER BY created_at, locator LIMIT ${ROW_COUNT_MAX}`)
    const found = { ...NONE, logEntries: page.length, decisions: sumDecisions(page) }
    yield pruning === null ? found : { ...NONE, ...(await deleteEntries(pool, pruning, limits, page)) }
    after = page.at(-1) ?? after
    count = page.length
  }
}

function sumDecisions(page: readonly { decisions: number }[]): number {
  return page.reduce((sum, { decisions }) => sum + decisions, 0)
}

function deleteEntries(
  pool: DatabasePool,
  pruning: bigint,
  limits: PruneLimits,
  page: readonly { locator: string }[],
): Promise<Pick<PruneCounts, 'logEntries' | 'decisions'>> {
  const locators = sqlArray('text', listLocators(page))
  // As arrays, since for a join the planner may read all decisions for a page.
  return pool.one(sql.type(z.object({ logEntries: z.number(), decisions: z.number() }))`
    WITH free AS (
      SELECT locator FROM notifications.notification_log
      WHERE locator = ANY(${locators}) AND NOT ${isToBeRetried(limits)} FOR UPDATE SKIP LOCKED
    ), entry AS (
      DELETE FROM notifications.notification_log WHERE locator = ANY(ARRAY(SELECT locator FROM free)) RETURNING locator
    ), decision AS (
      DELETE FROM notifications.decision WHERE locator = ANY(ARRAY(SELECT locator FROM free)) RETURNING locator
    ), counted AS (
      UPDATE notifications.pruning SET
        log_entries = log_entries + (SELECT count(*) FROM entry),
        decisions = decisions + (SELECT count(*) FROM decision)
      WHERE id = ${pruning}
    )
    SELECT (SELECT count(*)::integer FROM entry) AS "logEntries", (SELECT count(*)::integer FROM decision) AS decisions`)
}

const orphanPage = z.object({
  end: z.string().nullable(),
  count: z.number(),
  found: z.array(z.object({ locator: z.string(), decisions: z.number() })),
})
const countRow = z.object({ count: z.number() })

/** Old decisions without a row, which a rebuild would restore otherwise. */
async function* pruneOrphans(
  pool: DatabasePool,
  { before }: PruneLimits,
  pruning: bigint | null,
): AsyncGenerator<PruneCounts> {
  const bound = lastLocatorAt(before)
  for (let after: string | null = ''; after !== null; ) {
    const start: string = after
    const { end, count, found }: z.infer<typeof orphanPage> = await pool.one(sql.type(orphanPage)`
      WITH page AS MATERIALIZED (
        SELECT locator, min(decided_at) AS decided_at, count(*) AS decisions FROM notifications.decision
        WHERE locator > ${start} AND locator < ${bound} GROUP BY locator ORDER BY locator LIMIT ${ORPHAN_COUNT_MAX}
      )
      SELECT max(locator) AS "end", count(*)::integer AS count, ARRAY(
        SELECT json_build_object('locator', locator, 'decisions', decisions) FROM page
        WHERE decided_at < ${before}::timestamptz
          AND (SELECT true FROM notifications.notification_log AS entry WHERE entry.locator = page.locator LIMIT 1) IS NULL
      ) AS found
      FROM page`)
    const decisions =
      pruning === null
        ? sumDecisions(found)
        : await pool.oneFirst(sql.type(countRow)`
            WITH decision AS (
              DELETE FROM notifications.decision WHERE locator = ANY(${sqlArray('text', listLocators(found))})
                AND (
                  SELECT true FROM notifications.notification_log AS entry WHERE entry.locator = decision.locator LIMIT 1
                ) IS NULL
              RETURNING locator
            ), counted AS (
              UPDATE notifications.pruning SET decisions = decisions + (SELECT count(*) FROM decision) WHERE id = ${pruning}
            )
            SELECT count(*)::integer AS count FROM decision`)
    yield { ...NONE, decisions }
    after = count < ORPHAN_COUNT_MAX ? null : end
  }
}

function listLocators(page: readonly { locator: string }[]): string[] {
  return page.map(({ locator }) => locator)
}

const rejectedRow = z.object({ id: z.bigint(), old: z.boolean() })

/** Rejected messages. Examines all of the few, since their ids need not follow their times, for example after a fast clock. */
async function* pruneRejected(
  pool: DatabasePool,
  { before }: PruneLimits,
  pruning: bigint | null,
): AsyncGenerator<PruneCounts> {
  for (let after = 0n, count = ROW_COUNT_MAX; count === ROW_COUNT_MAX; ) {
    const page: readonly z.infer<typeof rejectedRow>[] = await pool.any(sql.type(rejectedRow)`
      SELECT id, rejected_at < ${before}::timestamptz AS old FROM notifications.rejected_message
      WHERE id > ${after} ORDER BY id LIMIT ${ROW_COUNT_MAX}`)
    const ids = page.filter(({ old }) => old).map(({ id }) => id)
    const isCounted = pruning === null || ids.length === 0
    const rejectedMessages = isCounted ? ids.length : await deleteRejected(pool, pruning, ids)
    yield { ...NONE, rejectedMessages }
    after = page.at(-1)?.id ?? after
    count = page.length
  }
}

function deleteRejected(pool: DatabasePool, pruning: bigint, ids: readonly bigint[]): Promise<number> {
  return pool.transaction(async (tx) => {
    // Waits for running redrives, so that none writes back the message or a row of its event.
    await lockErasure(tx)
    return tx.oneFirst(sql.type(countRow)`
      WITH message AS (
        DELETE FROM notifications.rejected_message WHERE id = ANY(${sqlArray('int8', ids)}) RETURNING id
      ), counted AS (
        UPDATE notifications.pruning
        SET rejected_messages = rejected_messages + (SELECT count(*) FROM message) WHERE id = ${pruning}
      )
      SELECT count(*)::integer AS count FROM message`)
  })
}

/**
 * Requests that ended before the limit, by id. A request stays while one of its decisions stays, because its row is still retried:
 * an erasure finds the copy of its reason through the request.
 */
async function* pruneRequests(
  pool: DatabasePool,
  { before }: PruneLimits,
  pruning: bigint | null,
): AsyncGenerator<PruneCounts> {
  // A count runs before decisions are deleted, so it cannot exclude requests by them.
  const isOver =
    pruning === null
      ? sql.fragment`true`
      : sql.fragment`(SELECT min(request_id) FROM notifications.decision WHERE request_id >= request.id) IS DISTINCT FROM request.id`
  for (let after = 0n, count = ROW_COUNT_MAX; count === ROW_COUNT_MAX; ) {
    const ids: readonly bigint[] = await pool.anyFirst(sql.type(z.object({ id: z.bigint() }))`
      SELECT id FROM notifications.request
      WHERE id > ${after} AND ended_at < ${before}::timestamptz AND ${isOver} ORDER BY id LIMIT ${ROW_COUNT_MAX}`)
    if (pruning !== null)
      await pool.query(sql.unsafe`DELETE FROM notifications.request WHERE id = ANY(${sqlArray('int8', ids)})`)
    yield { ...NONE, requests: ids.length }
    after = ids.at(-1) ?? after
    count = ids.length
  }
}

/** Reasons of changed checkpoints: an erasure could no longer find them through the deleted entries that they name. */
async function pruneReasons(pool: DatabasePool, { before }: PruneLimits): Promise<void> {
  await pool.query(sql.unsafe`
    UPDATE notifications.checkpoint_change SET because = 'pruned'
    WHERE changed_at < ${before}::timestamptz AND because NOT IN ('pruned', 'erased')`)
}

const redrivePage = z.object({ end: z.bigint().nullable(), count: z.number() })

/** Redrives and dismissals of deleted messages. Nobody reads them, and an erasure does not find their reasons. */
async function* pruneRedrives(pool: DatabasePool): AsyncGenerator<PruneCounts> {
  for (let after: bigint | null = 0n; after !== null; ) {
    const { end, count }: z.infer<typeof redrivePage> = await pool.one(sql.type(redrivePage)`
      WITH page AS MATERIALIZED (
        SELECT id, rejected_message_id FROM notifications.redrive WHERE id > ${after} ORDER BY id LIMIT ${ROW_COUNT_MAX}
      ), gone AS (
        DELETE FROM notifications.redrive WHERE id = ANY(ARRAY(
          SELECT id FROM page WHERE (
            SELECT true FROM notifications.rejected_message AS message WHERE message.id = rejected_message_id LIMIT 1
          ) IS NULL
        ))
      )
      SELECT max(id) AS "end", count(*)::integer AS count FROM page`)
    yield NONE
    after = count < ROW_COUNT_MAX ? null : end
  }
}
