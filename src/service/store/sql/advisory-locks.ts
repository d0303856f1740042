import { type CommonQueryMethods, type QuerySqlToken, sql } from 'slonik'
import { z } from 'zod'
import { CorrectableError } from '../../text/faults.ts'
import { isLocked } from '../connection/errors.ts'

// The numbers of all locks: arbitrary, and fixed, since replicas of different versions share them. Tests use 4_006_002.

/** Replicas that migrate at the same time wait for the one that has this lock. */
export const MIGRATION_LOCK = 4_006_001

/** One of the replicas with a new rule table records it; the others wait. */
export const ACTIVATION_LOCK = 4_006_003

/**
 * @internal `erase`, `prune`, `replay --rebuild` and dismissals hold the lock alone, and the service shares it among the requests that
 * write texts, so that no erased text returns, and no message is dismissed while it is redriven.
 */
export const ERASURE_LOCK = 4_006_004

/**
 * Every transaction that makes attempts shares the lock, and none takes it alone: its holders may not have seen a new hold. Read the
 * holds in a statement after the one that takes the lock: only then is the snapshot surely newer.
 */
export const ATTEMPTS_LOCK = 4_006_005

/** With the hash of a party it identifies the lock of that party's preferences. */
const PREFERENCES_LOCK = 4_006

/** Waits for the exclusive lock and keeps it until the transaction ends. Throws CorrectableError, for a command. */
export function lockErasure(tx: CommonQueryMethods): Promise<void> {
  return takeLock(
    tx,
    sql.unsafe`SELECT pg_advisory_xact_lock(${ERASURE_LOCK})`,
    'the service is carrying out a request, or another `erase`, `prune` or `replay --rebuild` is running: run this again',
  )
}

/** Shares the lock until the transaction ends, so that nothing is erased meanwhile. Throws CorrectableError, for a request's note. */
export function shareErasure(tx: CommonQueryMethods): Promise<void> {
  return takeLock(
    tx,
    sql.unsafe`SELECT pg_advisory_xact_lock_shared(${ERASURE_LOCK})`,
    'an `erase`, a `prune`, a `replay --rebuild` or a dismissal is running',
  )
}

async function takeLock(tx: CommonQueryMethods, lock: QuerySqlToken, reason: string): Promise<void> {
  await tx.query(lock).catch((error) => {
    if (!isLocked(error)) throw error
    throw new CorrectableError(reason, { cause: error })
  })
}

export function shareAttempts() {
  return sql.fragment`pg_advisory_xact_lock_shared(${ATTEMPTS_LOCK})`
}

// A row lock is not enough: there may be no row yet.
const preferencesKey = (partyLocator: string) => sql.fragment`${PREFERENCES_LOCK}, hashtext(${partyLocator})`

/** Waits for the lock on a party's preferences, and keeps it until the transaction ends. */
export async function lockPreferences(tx: CommonQueryMethods, partyLocator: string): Promise<void> {
  await tx.query(sql.unsafe`SELECT pg_advisory_xact_lock(${preferencesKey(partyLocator)})`)
}

/** Takes the same lock without waiting; false if another transaction has it. */
export function tryLockPreferences(tx: CommonQueryMethods, partyLocator: string): Promise<boolean> {
  return tx.oneFirst(sql.type(z.object({ isLocked: z.boolean() }))`
    SELECT pg_try_advisory_xact_lock(${preferencesKey(partyLocator)}) AS "isLocked"`)
}
