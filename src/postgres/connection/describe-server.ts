import { createConnector } from './connect.ts'
import { APPLICATION_NAME, SETTINGS, WISHES } from './pool.ts'

export interface Server {
  readonly version: string
  readonly encoding: string
  /** True for the connection that reaches the server; behind a pooler, for the pooler's. */
  readonly tls: boolean
  readonly isPooled: boolean
  /** The names of our settings that the server or a pooler refuses. */
  readonly refused: readonly string[]
  readonly isReadOnly: boolean
  /** The server follows a primary, or is being restored. */
  readonly isStandby: boolean
  /** How far the server's clock is ahead of ours, in ms; give or take the time of a query. */
  readonly aheadMs: number
}

/** Connects as the service does, and describes the server. */
export async function describeServer(databaseUrl: string): Promise<Server> {
  const ours = { settings: SETTINGS, wishes: WISHES, applicationName: APPLICATION_NAME }
  const { client, transactionStart, isReadOnly, refused } = await createConnector({ databaseUrl, ...ours })()
  try {
    const askedMs = Date.now()
    const { rows } = await client.query<
      Omit<Server, 'isPooled' | 'refused' | 'isReadOnly' | 'aheadMs'> & { nowMs: number }
    >(`
      SELECT current_setting('server_version') AS version, current_setting('server_encoding') AS encoding, ssl AS tls,
        pg_is_in_recovery() AS "isStandby", extract(epoch FROM clock_timestamp())::float8 * 1000 AS "nowMs"
      FROM pg_stat_ssl WHERE pid = pg_backend_pid()`)
    const answeredMs = Date.now()
    const unknown = {
      version: 'unknown',
      encoding: 'unknown',
      tls: false,
      isStandby: false,
      nowMs: answeredMs,
    }
    const [{ nowMs, ...found } = unknown] = rows
    const isPooled = transactionStart !== null
    return { ...found, isPooled, refused, isReadOnly, aheadMs: nowMs - (askedMs + answeredMs) / 2 }
  } finally {
    await client.end()
  }
}
