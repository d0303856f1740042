import pg from 'pg'
import {
  BackendTerminatedError,
  createDriverFactory,
  type DriverFactory,
  type DriverQueryResult,
} from 'slonik'
import { type ConnectOptions, createConnector, type Session } from './connect.ts'
import { classifyError, sqlState } from './errors.ts'

/** PostgreSQL's type numbers, which never change. */
const INT8 = 20
const TIMESTAMPTZ = 1_184

/**
 * Slonik's driver for pg. Through a pooler it opens each transaction with the settings, wraps a single statement in a
 * transaction, and names no prepared statement, which the next server connection would not know.
 */
export function createDriver(
  options: Omit<ConnectOptions, 'clientOptions'> & { silenceMaxMs: number },
): DriverFactory {
  const connect = createConnector({
    ...options,
    clientOptions: { query_timeout: options.silenceMaxMs, types: { getTypeParser } },
  })
  return createDriverFactory(async () => ({
    createPoolClient: async ({ clientEventEmitter }) => {
      let session: Session | null = null
      let isInTransaction = false

      async function queryPooled(client: pg.Client, start: string, text: string, values?: unknown[]) {
        if (text === 'START TRANSACTION') {
          await answer(client, client.query(start))
          isInTransaction = true
          return NOTHING
        }
        if (isInTransaction || text === 'ROLLBACK') {
          if (text === 'COMMIT' || text === 'ROLLBACK') isInTransaction = false
          return run(client, text, values)
        }
        return inOwnTransaction(client, start, () => run(client, text, values))
      }

      return {
        connect: async () => {
          session = await connect()
          session.client.on('error', (error) => {
            // Slonik has no listener on a connection that it has given up, and an unhandled error would end the process.
            if (clientEventEmitter.listenerCount('error') > 0)
              clientEventEmitter.emit('error', wrapped(error))
          })
        },
        end: async () => session?.client.end(),
        query: async (text, values, { name } = {}) => {
          if (session === null) throw new Error('not connected')
          const { client, transactionStart } = session
          return transactionStart === null
            ? run(client, text, values, name)
            : queryPooled(client, transactionStart, text, values)
        },
        stream: () => {
          throw new Error('streams are not used')
        },
      }
    },
  }))
}

const NOTHING = { command: 'SELECT', fields: [], rowCount: null, rows: [] } as const satisfies {
  [Field in keyof DriverQueryResult]: unknown
} as unknown as DriverQueryResult

async function inOwnTransaction<Result>(client: pg.Client, start: string, read: () => Promise<Result>) {
  await answer(client, client.query(start))
  try {
    const result = await read()
    await client.query('COMMIT')
    return result
  } catch (error) {
    // Only if the server answered; the connection is closed in any case.
    if (sqlState(error) !== undefined) await client.query('ROLLBACK').catch(() => {})
    throw error
  }
}

async function run(
  client: pg.Client,
  text: string,
  values: unknown[] | undefined,
  name?: string,
): Promise<DriverQueryResult> {
  const result = client.query({ text, ...(values && { values }), ...(name && { name }) })
  const { command, fields, rowCount, rows } = await answer(client, result)
  return {
    command: command as DriverQueryResult['command'],
    fields: fields.map((field) => ({ name: field.name, dataTypeId: field.dataTypeID })),
    rowCount,
    rows,
  }
}

async function answer<Result>(client: pg.Client, result: Promise<Result>): Promise<Result> {
  try {
    return await result
  } catch (error) {
    // Slonik would ask the server to end the connection, and wait for another answer.
    if (classifyError(error) === 'SILENT_SERVER') client.connection.stream.destroy()
    throw wrapped(error)
  }
}

const GONE = ['SILENT_SERVER', 'TERMINATED', '57P01', '25P03']

/** Makes Slonik treat the connection as gone, so that it sends nothing more. */
function wrapped(error: unknown): Error {
  const known = error instanceof Error ? error : new Error(String(error))
  const isGone = [classifyError(known), sqlState(known)].some((code) => GONE.some((gone) => gone === code))
  return isGone ? new BackendTerminatedError(known) : known
}

/** int8 → bigint, timestamptz → ISO 8601 text in UTC, always with microseconds; all others as in pg. */
function getTypeParser(type: number, format?: 'text' | 'binary') {
  if (type === INT8) return BigInt
  if (type === TIMESTAMPTZ) return isoTimestamp
  return pg.types.getTypeParser(type, format ?? 'text')
}

const SECONDS_LENGTH = '2026-01-31T12:00:00'.length
const YEAR_LENGTH = '2026'.length

/**
 * Converts PostgreSQL's `2026-01-31 12:00:00.5+00` to `2026-01-31T12:00:00.500000Z`. Leaves `infinity`, years before 1 and years
 * after 9999 unchanged, so that a manually written row breaks no other.
 */
function isoTimestamp(value: string): string {
  if (!value.endsWith('+00')) {
    if (/infinity$|\+00 BC$/.test(value)) return value
    throw new Error(`the time zone of the session is not UTC: ${value}`)
  }
  if (value[YEAR_LENGTH] !== '-') return value
  const decimals = value.slice(SECONDS_LENGTH + 1, -'+00'.length)
  return `${value.slice(0, SECONDS_LENGTH).replace(' ', 'T')}.${decimals.padEnd(6, '0')}Z`
}
