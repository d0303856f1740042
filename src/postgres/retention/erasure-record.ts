import { type CommonQueryMethods, type DatabasePool, sql } from 'slonik'
import { z } from 'zod'
import { storable } from '../../core/text/sanitize.ts'

/** Any fixed number: what erases rows and what puts texts back take turns, so that no text comes back. */
const ERASURE_LOCK = 4_006_004

/** Waits for its turn, and keeps it until the transaction ends. */
export async function lockErasure(tx: CommonQueryMethods): Promise<void> {
  await tx.query(sql.unsafe`SELECT pg_advisory_xact_lock(${ERASURE_LOCK})`)
}

/** The same, beside others that share it: nothing is erased until the transaction ends. */
export async function shareErasure(tx: CommonQueryMethods): Promise<void> {
  await tx.query(sql.unsafe`SELECT pg_advisory_xact_lock_shared(${ERASURE_LOCK})`)
}

/** Records that the erasure of a party begins, and by whom it was asked for. Returns its id. */
export function beginErasure(pool: DatabasePool, partyLocator: string, by: string): Promise<bigint> {
  return pool.oneFirst(sql.type(z.object({ id: z.bigint() }))`
    INSERT INTO notifications.erasure (party_locator, erased_by) VALUES (${partyLocator}, ${storable(by)})
    RETURNING id`)
}

/** Records that all was done. */
export async function finishErasure(pool: DatabasePool, erasure: bigint): Promise<void> {
  await pool.query(
    sql.unsafe`UPDATE notifications.erasure SET finished_at = clock_timestamp() WHERE id = ${erasure}`,
  )
}
