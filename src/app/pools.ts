import { setTimeout as sleep } from 'node:timers/promises'
import type { Logger } from 'pino'
import type { Config } from '../config/config.ts'
import { backOffMs } from '../core/time/back-off.ts'
import { share } from '../core/time/share.ts'
import { errorCode, isUnreachable, isUnusable } from '../postgres/connection/errors.ts'
import { type DatabasePool, openPool, type PoolOptions } from '../postgres/connection/pool.ts'
import { findReadinessFault } from '../postgres/schema/find-readiness-fault.ts'
import { knownMigrations } from '../postgres/schema/migrate.ts'

/** A database that hangs counts as unavailable after the deadline. */
const FAULT_SHARED = { validMs: 1_000, deadlineMs: 3_000 }

export type Database = Awaited<ReturnType<typeof createDatabase>>

/** A database that may not have been reached yet: its pools throw until then. */
export async function createDatabase(
  { url: databaseUrl, poolMax, httpPoolMax }: Config['database'],
  log: Logger,
) {
  const migrations = await knownMigrations()
  let reached: Readonly<Record<'dispatch' | 'http' | 'lists', DatabasePool>> | null = null
  const pools = () => {
    if (reached === null) throw new DatabaseNotReached()
    return reached
  }
  let outage = NOT_REACHED
  function noteOutage(error: unknown): string {
    log.debug({ err: error }, 'the database cannot be used')
    outage = `the database cannot be used (${errorCode(error)}): run the command \`doctor\` to find out why`
    return outage
  }
  const listPoolMax = Math.floor(httpPoolMax / 2)
  /** Opens all pools, or none: what was opened before a failure is closed again. */
  const open = async () => {
    await using opened = new AsyncDisposableStack()
    const add = async (options: Omit<PoolOptions, 'databaseUrl'>) => {
      const pool = await openPool({ databaseUrl, ...options })
      opened.defer(() => pool.end())
      return pool
    }
    const all = {
      dispatch: await add({ connectionCountMax: poolMax }),
      http: await add({ connectionCountMax: httpPoolMax - listPoolMax }),
      lists: await add({ connectionCountMax: listPoolMax, endWithClient: true }),
    }
    opened.move()
    return all
  }
  return {
    /** For dispatch and retries. */
    pool: () => pools().dispatch,
    /** For HTTP, so that readers and dispatch never wait for each other. */
    httpPool: () => pools().http,
    /** For lists and counts over HTTP, so that opt-outs and probes never wait for one. */
    listPool: () => pools().lists,
    /** Connections of each pool by state; none if the database has not been reached yet. */
    connections: () =>
      Object.entries(reached ?? {}).map(([pool, of]) => {
        const { acquiredConnections, idleConnections, waitingClients } = of.state()
        return { pool, acquired: acquiredConnections, idle: idleConnections, waiters: waitingClients }
      }),
    /**
     * The reason why the database cannot be used now, with the remedy, or null. Asks and waits as `FAULT_SHARED` says. Contains no
     * address, since anyone may read it.
     */
    fault: share(
      async () => {
        if (reached === null) return outage
        const found = findReadinessFault(reached.http, migrations).then(
          (found) => found?.text ?? null,
          noteOutage,
        )
        return Promise.race([found, sleep(FAULT_SHARED.deadlineMs, SILENT, { ref: false })])
      },
      FAULT_SHARED,
      () => performance.now(),
    ),
    /** True if an error is an outage or a misconfigured database, and not a bug. */
    isUnavailable: (error: unknown): boolean =>
      error instanceof DatabaseNotReached || isUnreachable(error) || isUnusable(error),
    /** Waits, with backoff, for the server, for the schema, and for `prepare` to succeed. Rejects only on `signal`. */
    reach: async (signal: AbortSignal, prepare: (pool: DatabasePool) => Promise<void>) => {
      const opened = await retryWithBackOff('the database', log, signal, () =>
        open().catch((error) => {
          noteOutage(error)
          throw error
        }),
      )
      reached = opened
      await retryWithBackOff('the schema', log, signal, async () => {
        const fault = await findReadinessFault(opened.dispatch, migrations)
        if (fault !== null) throw new Error(fault.text)
        await prepare(opened.dispatch)
      })
      return opened.dispatch
    },
    close: async () => {
      await Promise.all(Object.values(reached ?? {}).map((pool) => pool.end()))
    },
  }
}

const SILENT = 'the database does not answer: run the command `doctor` to find out why'
const NOT_REACHED = 'the database has not been reached yet'

class DatabaseNotReached extends Error {
  override readonly message = NOT_REACHED
}

/**
 * Retries until it succeeds, with a pause that doubles up to 10 s, and logs each failure. Rejects only when the signal is
 * aborted.
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
