import { type DatabasePool, sql } from 'slonik'
import { z } from 'zod'
import { storable } from '../../service/text/sanitize.ts'

export interface ErasureCounts {
  readonly logEntries: number
  /** Log entries among them that were FAILED: they are no longer retried. */
  readonly retries: number
  readonly preferences: number
  readonly preferenceChanges: number
  readonly rejectedMessages: number
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
