import { createPool, type DatabasePool, type Interceptor, SchemaValidationError } from 'slonik'
import { boundedPool } from './bounded-pool.ts'
import { createDriver } from './driver.ts'

export type { DatabasePool } from 'slonik'

export interface PoolOptions {
  readonly databaseUrl: string
  /** Maximum number of connections; further work waits for one. */
  readonly connectionCountMax: number
  /** True if the server checks every second whether the client of a long query is still connected, if it can. */
  readonly endWithClient?: boolean
}

/**
 * Maximum time to wait for a statement: a server or network path that fails silently cancels nothing. Slightly longer than the
 * server's own limit, so that it applies only if the server cannot react.
 */
const SILENCE_MAX_MS = 18_000

export const APPLICATION_NAME = 'notifications-service'

export const SETTINGS = {
  // A consumer that is paused in the middle of a transaction must not block its successor.
  idle_in_transaction_session_timeout: '5s',
  lock_timeout: '5s',
  statement_timeout: '15s',
  TimeZone: 'UTC',
  // Values are written and read in these formats, whatever the database or the role is set to.
  DateStyle: 'ISO, MDY',
  IntervalStyle: 'postgres',
  client_encoding: 'UTF8',
  bytea_output: 'hex',
  // A number of floating point is written with all its digits.
  extra_float_digits: '1',
  array_nulls: 'on',
  standard_conforming_strings: 'on',
  // Ours are qualified; the others belong to PostgreSQL, or to a transport or trigger.
  search_path: 'pg_catalog, "$user", public',
  row_security: 'on',
  default_transaction_isolation: 'read committed',
  // Every query finds its rows by key or walks an index in its order. The other scans read all matches before the first row comes
  // out, and the planner, which assumes independent columns, underestimates them.
  enable_bitmapscan: 'off',
  enable_seqscan: 'off',
}

/** Settings of a pool that ends with its clients. PostgreSQL refuses this one on some systems: a query without a client then runs on. */
export const OPTIONAL_SETTINGS = { client_connection_check_interval: '1s' }

/**
 * Opens the pool with one connection, which survives restarts of the database by itself. Rejects while the database cannot be
 * reached, so that start-up retries it. int8 is read as bigint, timestamptz as ISO 8601 text in UTC, always with microseconds.
 */
export async function openPool({
  databaseUrl,
  connectionCountMax,
  endWithClient = false,
}: PoolOptions): Promise<DatabasePool> {
  const pool = await createPool('postgres:', {
    driverFactory: createDriver({
      databaseUrl,
      settings: SETTINGS,
      ...(endWithClient && { optionalSettings: OPTIONAL_SETTINGS }),
      applicationName: APPLICATION_NAME,
      silenceMaxMs: SILENCE_MAX_MS,
    }),
    maxPoolSize: connectionCountMax,
    connectionRetryLimit: 0,
    // Less than SILENCE_MAX_MS: if a network path fails, at most one attempt is lost to its idle connections.
    idleTimeout: 10_000,
    // After a deadlock or serialization failure the batch starts again from its look-ups, not from the handler.
    transactionRetryLimit: 0,
    queryRetryLimit: 0,
    // No session state is ever set, so a release needs no round trip.
    resetConnection: async () => {},
    interceptors: [validateRows],
  })
  try {
    await pool.connect(async () => {})
  } catch (error) {
    await pool.end()
    throw error
  }
  return boundedPool(pool, connectionCountMax)
}

/** Validates each row with the query's zod schema, synchronously. Slonik itself checks nothing. */
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
