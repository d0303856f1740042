import { setTimeout as sleep } from 'node:timers/promises'
import type { Logger } from 'pino'
import { backOffMs } from '../core/time/back-off.ts'
import { isUnreachable } from '../postgres/connection/errors.ts'
import { type DatabasePool, openPool, type PoolOptions } from '../postgres/connection/pool.ts'
import { knownMigrations } from '../postgres/schema/migrate.ts'
import { missingMigrations } from '../postgres/schema/missing-migrations.ts'

/** A database that may not have been reached yet. */
export interface Database {
  /** Throws if the database has not been reached yet. */
  pool(): DatabasePool
  /** Connections by state; null if the database has not been reached yet. */
  connections(): { acquired: number; idle: number; waiters: number } | null
  /** Why it cannot be used now, with the remedy, or null; rejects if it does not answer. */
  fault(): Promise<string | null>
  /** Whether an error is an outage rather than a bug. */
  isUnavailable(error: unknown): boolean
  /** Waits, with back-off, for the server, for the schema, and for `prepare` to succeed. Rejects only on `signal`. */
  reach(signal: AbortSignal, prepare: (pool: DatabasePool) => Promise<void>): Promise<DatabasePool>
  close(): Promise<void>
}

export async function createDatabase(options: PoolOptions, log: Logger): Promise<Database> {
  const migrations = await knownMigrations()
  let reached: DatabasePool | null = null
  return {
    pool: () => {
      if (reached === null) throw new DatabaseNotReached()
      return reached
    },
    connections: () => {
      if (reached === null) return null
      const { acquiredConnections, idleConnections, waitingClients } = reached.state()
      return { acquired: acquiredConnections, idle: idleConnections, waiters: waitingClients }
    },
    fault: async () => (reached === null ? NOT_REACHED : missingMigrations(reached, migrations)),
    isUnavailable: (error) => error instanceof DatabaseNotReached || isUnreachable(error),
    reach: async (signal, prepare) => {
      const pool = await retryWithBackOff('the database', log, signal, () => openPool(options))
      reached = pool
      await retryWithBackOff('the schema', log, signal, async () => {
        const missing = await missingMigrations(pool, migrations)
        if (missing !== null) throw new Error(missing)
        await prepare(pool)
      })
      return pool
    },
    close: async () => reached?.end(),
  }
}

const NOT_REACHED = 'the database has not been reached yet'

class DatabaseNotReached extends Error {
  override readonly message = NOT_REACHED
}

/**
 * Retries until it succeeds, with a pause that doubles up to 10 s, and logs what it waits for and why. Rejects only
 * when the signal is aborted.
 */
async function retryWithBackOff<T>(
  what: string,
  log: Logger,
  signal: AbortSignal,
  attempt: () => Promise<T>,
): Promise<T> {
  for (let failureCount = 0; ; failureCount++) {
    signal.throwIfAborted()
    try {
      return await attempt()
    } catch (error) {
      const retryInMs = backOffMs(failureCount)
      const reason = error instanceof Error ? error.message || error.name : String(error)
      log.warn({ reason, retryInMs }, `waiting for ${what}`)
      await sleep(retryInMs, undefined, { signal })
    }
  }
}
