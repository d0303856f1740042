import { setTimeout as sleep } from 'node:timers/promises'
import { type CommonQueryMethods, sql } from 'slonik'
import { z } from 'zod'
import type { Hold } from '../../model/request/hold.ts'
import { readHolds } from '../read/read-holds.ts'
import { ATTEMPTS_LOCK, shareAttempts } from '../sql/advisory-locks.ts'

const POLL_MS = 50

/** Shares the lock of attempts, which `awaitAttempts` inspects, then reads the committed holds in a separate statement. */
export async function readHoldsLocked(tx: CommonQueryMethods): Promise<readonly Hold[]> {
  await tx.query(sql.unsafe`SELECT ${shareAttempts()}`)
  return readHolds(tx)
}

const idRow = z.object({ id: z.string() })

/**
 * Waits until all transactions that now make attempts have ended, since they may not have seen a hold. Call it once the hold is
 * committed. It takes no exclusive lock, which would delay later attempts, even of other topics.
 */
export async function awaitAttempts(pool: CommonQueryMethods): Promise<void> {
  let running = await listAttempts(pool)
  while (running.size > 0) {
    await sleep(POLL_MS)
    const still = await listAttempts(pool)
    running = new Set([...running].filter((id) => still.has(id)))
  }
}

/** The transactions that share the lock of attempts. */
async function listAttempts(pool: CommonQueryMethods): Promise<ReadonlySet<string>> {
  const ids = await pool.anyFirst(sql.type(idRow)`
    SELECT virtualtransaction AS id FROM pg_locks
    WHERE locktype = 'advisory' AND classid = 0 AND objid = ${ATTEMPTS_LOCK} AND objsubid = 1
      AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`)
  return new Set(ids)
}
