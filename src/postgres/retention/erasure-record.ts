import { type CommonQueryMethods, type DatabasePool, type QuerySqlToken, sql } from 'slonik'
import { z } from 'zod'
import { CorrectableError } from '../../core/text/faults.ts'
import { storable } from '../../core/text/sanitize.ts'
import { isLocked } from '../connection/errors.ts'

export interface ErasureCounts {
  readonly logEntries: number
  /** Log entries among them that were FAILED: they are no longer retried. */
  readonly retries: number
  readonly preferences: number
  readonly preferenceChanges: number
  readonly rejectedMessages: number
}

/**
 * An arbitrary fixed number. `erase` and `replay --rebuild` hold the lock alone, and the service shares it among the requests that
 * write texts, so that no erased text returns.
 */
export const ERASURE_LOCK = 4_006_004

/** Waits until nobody else has the lock, and keeps it until the transaction ends. Throws CorrectableError, for a command. */
export function lockErasure(tx: CommonQueryMethods): Promise<void> {
  return take(
    tx,
    sql.unsafe`SELECT pg_advisory_xact_lock(${ERASURE_LOCK})`,
    'the service is carrying out a `retry` or `redrive`, or another `erase` or `replay --rebuild` is running: run this again',
  )
}

/** Waits until nothing is erased, and keeps it so until the transaction ends. Throws CorrectableError, for a request's note. */
export function shareErasure(tx: CommonQueryMethods): Promise<void> {
  return take(
    tx,
    sql.unsafe`SELECT pg_advisory_xact_lock_shared(${ERASURE_LOCK})`,
    'an `erase` or a `replay --rebuild` is running',
  )
}

async function take(tx: CommonQueryMethods, lock: QuerySqlToken, reason: string): Promise<void> {
  await tx.query(lock).catch((error) => {
    if (!isLocked(error)) throw error
    throw new CorrectableError(reason, { cause: error })
  })
}

/** Records the start of a party's erasure, and who requested it. Returns its id. */
export function beginErasure(pool: DatabasePool, partyLocator: string, by: string): Promise<bigint> {
  return pool.oneFirst(sql.type(z.object({ id: z.bigint() }))`
    INSERT INTO notifications.erasure (party_locator, erased_by) VALUES (${partyLocator}, ${storable(by)})
    RETURNING id`)
}

/** Records that a party is completely erased, which also completes its earlier, interrupted erasures. */
export async function finishErasures(pool: DatabasePool, partyLocator: string): Promise<void> {
  await pool.query(sql.unsafe`
    UPDATE notifications.erasure SET finished_at = clock_timestamp()
    WHERE party_locator = ${partyLocator} AND finished_at IS NULL`)
}

export function countUnfinishedErasures(pool: DatabasePool): Promise<number> {
  return pool.oneFirst(sql.type(z.object({ count: z.number() }))`
    SELECT count(*)::integer AS count FROM notifications.erasure WHERE finished_at IS NULL`)
}
