import { setTimeout as sleep } from 'node:timers/promises'
import type { Logger } from 'pino'
import type { Config } from '../config/config.ts'
import { errorCode, isUnreachable, isUnusable } from '../store/connection/errors.ts'
import { type DatabasePool, openPool, type PoolOptions } from '../store/connection/pool.ts'
import { findReadinessFault, findSchemaChanges } from '../store/schema/find-readiness-fault.ts'
import { describeFault, partFault, readMigrations } from '../store/schema/migration.ts'
import { backOffMs } from '../time/back-off.ts'
import { share } from '../time/share.ts'
import { withTimeout } from '../time/with-timeout.ts'

/** A database that hangs counts as unavailable after the deadline. */
const FAULT_SHARED = { validMs: 1_000, deadlineMs: 3_000 }

const POOL_NAMES = ['dispatch', 'http', 'lists'] as const
type PoolName = (typeof POOL_NAMES)[number]

export type Database = Awaited<ReturnType<typeof createDatabase>>

/** A database that may not have been reached yet: its pools throw until then. */
export async function createDatabase(
  { url: databaseUrl, poolMax, httpPoolMax }: Config['database'],
  log: Logger,
) {
  const migrations = await readMigrations()
  const listPoolMax = Math.floor(httpPoolMax / 2)
  const options: Readonly<Record<PoolName, Omit<PoolOptions, 'databaseUrl'>>> = {
    dispatch: { connectionCountMax: poolMax },
    http: { connectionCountMax: httpPoolMax - listPoolMax },
    lists: { connectionCountMax: listPoolMax, endWithClient: true },
  }
  /** The pools that are open: one that cannot be opened holds up no other. */
  const reached = new Map<PoolName, DatabasePool>()
  const pool = (name: PoolName) => {
    const found = reached.get(name)
    if (found === undefined) throw new DatabaseNotReached()
    return found
  }
  const closing = new AbortController()
  let outage = NOT_REACHED
  function noteOutage(error: unknown): string {
    log.debug({ err: error }, 'the database cannot be used')
    outage = `the database cannot be used (${errorCode(error)}): run the command \`doctor\` to find out why`
    return outage
  }
  async function open(name: PoolName): Promise<void> {
    const opened = await openPool({ databaseUrl, ...options[name] }).catch((error) => {
      noteOutage(error)
      throw error
    })
    if (closing.signal.aborted) await opened.end()
    else reached.set(name, opened)
  }
  /** Opens the pools that are not open yet. Rejects with the first error, once each was tried. */
  async function openAll(onOpened: () => void): Promise<void> {
    const missing = POOL_NAMES.filter((name) => !reached.has(name))
    const results = await Promise.allSettled(missing.map((name) => open(name).then(onOpened)))
    const failed = results.find(({ status }) => status === 'rejected')
    if (failed?.status === 'rejected') throw failed.reason
  }
  return {
    /** For dispatch and retries. */
    pool: () => pool('dispatch'),
    /** For HTTP, so that readers and dispatch never wait for each other. */
    httpPool: () => pool('http'),
    /** For lists and counts over HTTP, so that opt-outs and probes never wait for one. */
    listPool: () => pool('lists'),
    /** Connections of each pool by state; none if the database has not been reached yet. */
    connections: () =>
      [...reached].map(([pool, opened]) => {
        const { acquiredConnections, idleConnections, waitingClients } = opened.state()
        return { pool, acquired: acquiredConnections, idle: idleConnections, waiters: waitingClients }
      }),
    /**
     * The reason why the database cannot be used now, with the remedy, or null. Asks and waits as `FAULT_SHARED` says. Contains no
     * address, since anyone may read it.
     */
    fault: share(
      async () => {
        const http = reached.get('http')
        if (http === undefined) return outage
        const found = findReadinessFault(http, migrations).then(
          (found) => found && describeFault(found),
          noteOutage,
        )
        return withTimeout(FAULT_SHARED.deadlineMs, found, () => SILENT)
      },
      FAULT_SHARED,
      () => performance.now(),
    ),
    /** True if an error is an outage or a misconfigured database, and not a bug. */
    isUnavailable: (error: unknown): boolean =>
      error instanceof DatabaseNotReached || isUnreachable(error) || isUnusable(error),
    /**
     * Waits, with backoff, for the server, for the schema, and for `prepare` to succeed, and goes on opening the other pools
     * meanwhile. Resolves to the pool and what `prepare` resolved to. Rejects only on `signal`.
     */
    reach: async <T>(signal: AbortSignal, prepare: (pool: DatabasePool) => Promise<T>) => {
      const isThere = Promise.withResolvers<void>()
      const untilEnd = AbortSignal.any([signal, closing.signal])
      const opening = retryWithBackOff('the database', log, untilEnd, () =>
        openAll(() => {
          if (reached.has('dispatch')) isThere.resolve()
        }),
      )
      // The others may be opened later, or never.
      opening.catch(() => {})
      await Promise.race([isThere.promise, opening])
      const dispatch = pool('dispatch')
      const prepared = await retryWithBackOff('the schema', log, signal, async () => {
        const fault = await findReadinessFault(dispatch, migrations)
        if (fault !== null) throw new Error(describeFault(fault))
        const lack = partFault(await findSchemaChanges(dispatch, migrations))
        if (lack !== null) log.warn({ remedy: lack.remedy }, lack.problem)
        return prepare(dispatch)
      })
      return { pool: dispatch, prepared }
    },
    close: async () => {
      closing.abort()
      await Promise.all([...reached.values()].map((opened) => opened.end()))
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
