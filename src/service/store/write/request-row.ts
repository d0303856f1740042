import { type CommonQueryMethods, sql } from 'slonik'
import { z } from 'zod'
import type { TopicPartition } from '../../decide/event/position.ts'
import { type HoldRequest, holdRequest } from '../../model/request/hold.ts'
import { type End, PAUSED, type Progress } from '../../model/request/request.ts'
import {
  LOOK_UP_KINDS,
  REQUEST_KINDS,
  type RequestTarget,
  requestTarget,
  storedRequest,
  type TakenRequest,
  takenRequest,
} from '../../model/request/schemas.ts'
import { storable } from '../../text/sanitize.ts'
import { sqlArray, sqlColumns } from '../sql/columns.ts'

/** Time without progress after which another replica may take a request, since its replica may be gone. */
const TAKEN_MS = 20_000
const TAKEN = sql.fragment`clock_timestamp() + ${TAKEN_MS} * interval '1 millisecond'`
/** Pause before a failed page is processed again. */
const PAUSE_MS = 5_000

/**
 * Adds a request and returns its id; if its author used the key before, returns the id of that request. Rejects a request that this
 * version could not read.
 */
export async function addRequest(
  pool: CommonQueryMethods,
  wanted: RequestTarget | HoldRequest,
  by: string,
  because: string,
  key: string | null = null,
): Promise<string> {
  const { kind, target } = z.union([requestTarget, holdRequest]).parse(wanted)
  const author = storable(by)
  const added = await pool.maybeOneFirst(sql.type(idRow)`
    INSERT INTO notifications.request (kind, target, requested_by, because, idempotency_key)
    VALUES (${kind}, ${JSON.stringify(target)}::jsonb, ${author}, ${storable(because)}, ${key}::uuid)
    ON CONFLICT (requested_by, idempotency_key) DO NOTHING RETURNING id::text`)
  return (
    added ??
    pool.oneFirst(sql.type(idRow)`
      SELECT id::text FROM notifications.request WHERE requested_by = ${author} AND idempotency_key = ${key}::uuid`)
  )
}

const idRow = z.object({ id: z.string() })

const takenRow = storedRequest
  .pick({ id: true, kind: true, target: true, by: true, because: true, counts: true, unchanged: true })
  .extend({ position: z.unknown() })

/**
 * Takes the open request that has waited longest for its next page, until it is released; null without one. Omits requests that
 * need policy administration while it is down, and skips of partitions that this replica does not own.
 */
export async function takeRequest(
  pool: CommonQueryMethods,
  owned: readonly TopicPartition[],
  isDown: boolean,
): Promise<TakenRequest | null> {
  const kinds = REQUEST_KINDS.filter((kind) => kind !== 'skip' && !(isDown && LOOK_UP_KINDS.includes(kind)))
  const column = sqlColumns(owned)
  const row = await pool.maybeOne(sql.type(takenRow)`
    UPDATE notifications.request
    SET state = 'running', served_at = clock_timestamp(), taken_until = ${TAKEN}
    WHERE id = (
      SELECT id FROM notifications.request
      WHERE ended_at IS NULL AND (taken_until IS NULL OR taken_until < clock_timestamp()) AND (
        kind = ANY(${sqlArray('text', kinds)})
        OR (kind = 'skip' AND (target ->> 'topic', target ->> 'partition') IN (
          SELECT * FROM unnest(
            ${column('text', ({ topic }) => topic)}, ${column('text', ({ partition }) => String(partition))}
          )
        ))
      )
      ORDER BY served_at NULLS FIRST, id LIMIT 1 FOR UPDATE SKIP LOCKED
    )
    RETURNING id::text, kind, target, requested_by AS by, because, progress AS position, counts, unchanged`)
  if (row === null) return null
  const { position, counts, unchanged, ...rest } = row
  const taken = takenRequest.safeParse({ ...rest, progress: { position, counts, unchanged } })
  if (taken.success) return taken.data
  await postponeRequest(pool, row.id, 'this version of the service cannot read its target')
  return null
}

/**
 * Locks a request until the transaction ends; false if it has ended, another replica has processed the page, or its reason was
 * erased, which the page would store again.
 */
export async function lockRequest(
  tx: CommonQueryMethods,
  { id, progress, because }: Pick<TakenRequest, 'id' | 'progress' | 'because'>,
): Promise<boolean> {
  const { rowCount } = await tx.query(sql.unsafe`
    SELECT FROM notifications.request
    WHERE id = ${id} AND ended_at IS NULL AND progress = ${JSON.stringify(progress.position)}::jsonb
      AND because = ${because}
    FOR UPDATE`)
  return rowCount > 0
}

/** Writes the progress of a locked request; `end` ends it. */
export async function recordProgress(
  tx: CommonQueryMethods,
  id: string,
  { position, counts, unchanged }: Progress,
  end: End | null,
): Promise<void> {
  await tx.query(sql.unsafe`
    UPDATE notifications.request
    SET progress = ${JSON.stringify(position)}::jsonb, counts = ${JSON.stringify(counts)}::jsonb,
      unchanged = ${JSON.stringify(unchanged.map((entry) => ({ ...entry, reason: storable(entry.reason) })))}::jsonb, taken_until = ${TAKEN}, note = ${end === null ? null : end.note},
      state = ${end === null ? 'running' : end.state}, ended_at = ${end === null ? null : sql.fragment`clock_timestamp()`}
    WHERE id = ${id}`)
}

/** Gives a request back to all replicas after a page. */
export async function releaseRequest(pool: CommonQueryMethods, id: string): Promise<void> {
  await pool.query(
    sql.unsafe`UPDATE notifications.request SET taken_until = NULL WHERE id = ${id} AND ended_at IS NULL`,
  )
}

/** Lets a request wait a few seconds, and records the reason. */
export async function postponeRequest(pool: CommonQueryMethods, id: string, note: string): Promise<void> {
  await pool.query(sql.unsafe`
    UPDATE notifications.request
    SET note = ${storable(note)}, taken_until = clock_timestamp() + ${PAUSE_MS} * interval '1 millisecond'
    WHERE id = ${id} AND ended_at IS NULL`)
}

/** Notes on open requests that policy administration is down. */
export async function notePaused(pool: CommonQueryMethods): Promise<void> {
  await pool.query(sql.unsafe`
    UPDATE notifications.request SET note = ${PAUSED}
    WHERE ended_at IS NULL AND kind = ANY(${sqlArray('text', LOOK_UP_KINDS)}) AND note IS DISTINCT FROM ${PAUSED}`)
}

/** Cancels an open request, after the page in progress. False if it has ended or does not exist. */
export async function cancelRequest(pool: CommonQueryMethods, id: string, by: string): Promise<boolean> {
  const { rowCount } = await pool.query(sql.unsafe`
    UPDATE notifications.request SET state = 'cancelled', ended_at = clock_timestamp(), taken_until = NULL, note = ${storable(`by ${by}`)}
    WHERE id = ${id} AND ended_at IS NULL`)
  return rowCount > 0
}
