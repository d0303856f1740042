import { createPool, type DatabasePool, type Interceptor, SchemaValidationError } from 'slonik'
import { boundedPool } from './bounded-pool.ts'
import { createDriver } from './driver.ts'

export type { DatabasePool } from 'slonik'

export interface PoolOptions {
  readonly databaseUrl: string
  /** Maximum number of connections; further work waits for one. */
  readonly connectionCountMax: number
  /** True if the server, where it can, checks every second that the client of a long query is still connected. */
  readonly endWithClient?: boolean
}

/**
 * Maximum time to wait for a statement, since a server or network that fails silently cancels nothing. Slightly longer than the
 * server's own limit, which it backs up.
 */
const SILENCE_MAX_MS = 18_000

export const APPLICATION_NAME = 'notifications-service'

export const SETTINGS = {
  // A consumer that is paused in the middle of a transaction must not block its successor.
  idle_in_transaction_session_timeout: '5s',
  lock_timeout: '5s',
  statement_timeout: '15s',
  TimeZone: 'UTC',
  // Formats of values, whatever the database or the role is set to.
  DateStyle: 'ISO, MDY',
  IntervalStyle: 'postgres',
  client_encoding: 'UTF8',
  bytea_output: 'hex',
  // Floating-point numbers are written with all their digits.
  extra_float_digits: '1',
  array_nulls: 'on',
  standard_conforming_strings: 'on',
  // Our own names are qualified; others belong to PostgreSQL, a transport or a trigger.
  search_path: 'pg_catalog, "$user", public',
  row_security: 'on',
  default_transaction_isolation: 'read committed',
  // Every query finds its rows by key or walks an index in order. Other scans read all matches before they return a row, and the
  // planner, which assumes independent columns, underestimates their cost.
  enable_bitmapscan: 'off',
  enable_seqscan: 'off',
}

/** Ends the queries of clients that are gone. On some systems PostgreSQL refuses the setting, and such queries run to their end. */
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
    // Less than SILENCE_MAX_MS, so that a failed network path costs at most one attempt on idle connections.
    idleTimeout: 10_000,
    // After a deadlock or serialization failure the batch starts again from its look-ups, not from the handler.
    transactionRetryLimit: 0,
    queryRetryLimit: 0,
    // Sessions have no state to reset, so a release needs no round trip.
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
