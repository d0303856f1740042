import pg from 'pg'
import { createPool, type DatabasePool, type Interceptor, SchemaValidationError } from 'slonik'
import { connectionOf } from './tls.ts'

export type { DatabasePool } from 'slonik'

export interface PoolOptions {
  readonly databaseUrl: string
  /** Connections at most; further work waits for one. */
  readonly connectionCountMax: number
  /** Whether the server looks each second if the client of a long query is still there. */
  readonly endWithClient?: boolean
}

/** A little longer than the server's own limit, so that this one speaks only where the server cannot. */
const SILENCE_MAX_MS = 18_000

/**
 * Gives up on a statement whose answer does not come, for all connections that this process opens from now on: a
 * server or a network path that fails silently cancels nothing. Slonik has no such option of its own.
 */
export function limitSilence(): void {
  pg.defaults.query_timeout = SILENCE_MAX_MS
}

/**
 * Opens the pool, and one connection to learn the types: rejects while the database cannot be reached, so that
 * start-up retries it. Afterwards the pool survives restarts of the database by itself.
 *
 * Values come back as: int8 → bigint, timestamptz → ISO 8601 text in UTC, always with microseconds.
 */
export async function openPool({
  databaseUrl,
  connectionCountMax,
  endWithClient = false,
}: PoolOptions): Promise<DatabasePool> {
  const { url, ssl } = connectionOf(databaseUrl)
  return createPool(withSessionSettings(url, endWithClient ? '-c client_connection_check_interval=1s' : ''), {
    ...(ssl && { ssl }),
    maxPoolSize: connectionCountMax,
    connectionTimeout: 5_000,
    connectionRetryLimit: 0,
    // Less than SILENCE_MAX_MS: where a path went dead, one attempt at most is lost to connections that were idle on it.
    idleTimeout: 10_000,
    // A consumer that is paused in the middle of a transaction must not hold its successor.
    idleInTransactionSessionTimeout: 5_000,
    statementTimeout: 15_000,
    // Deadlocks and serialization failures start the batch again from its look-ups, not from the handler.
    transactionRetryLimit: 0,
    queryRetryLimit: 0,
    // No session state is ever set, so a release needs no round trip.
    resetConnection: async () => {},
    interceptors: [validateRows],
    typeParsers: [
      { name: 'int8', parse: (value) => BigInt(value) },
      { name: 'timestamptz', parse: isoTimestamp },
    ],
  })
}

function withSessionSettings(databaseUrl: string, more: string): string {
  const url = new URL(databaseUrl)
  const given = url.searchParams.get('options')
  // Every query of ours finds its rows by key or walks an index in its order. A bitmap scan reads all that matches
  // before the first row comes out, and the planner, which believes columns to be independent, takes it for few.
  const ours = `-c lock_timeout=5000 -c timezone=UTC -c enable_bitmapscan=off ${more}`
  url.searchParams.set('options', given === null ? ours : `${given} ${ours}`)
  if (!url.searchParams.has('application_name'))
    url.searchParams.set('application_name', 'notifications-service')
  return url.href
}

const SECONDS_LENGTH = '2026-01-31T12:00:00'.length

/** PostgreSQL's `2026-01-31 12:00:00.5+00` as `2026-01-31T12:00:00.500000Z`; the session's time zone is UTC. */
function isoTimestamp(value: string): string {
  const decimals = value.slice(SECONDS_LENGTH + 1, -'+00'.length)
  return `${value.slice(0, SECONDS_LENGTH).replace(' ', 'T')}.${decimals.padEnd(6, '0')}Z`
}

/** Validates each row by the query's zod schema, synchronously: Slonik itself checks nothing. */
const validateRows: Interceptor = {
  name: 'validate-rows',
  transformRow: (context, query, row) => {
    const { resultParser } = context
    if (resultParser === undefined) return row
    const result = resultParser['~standard'].validate(row)
    if (result instanceof Promise) throw new Error('a result parser must be synchronous')
    if (result.issues) throw new SchemaValidationError(query, row, result.issues)
    return result.value as typeof row
  },
}
