import type pg from 'pg'
import { createConnector } from '../../service/store/connection/connect.ts'
import { classifyError } from '../../service/store/connection/errors.ts'
import { APPLICATION_NAME, OPTIONAL_SETTINGS, SETTINGS } from '../../service/store/connection/pool.ts'

export interface Server {
  readonly version: string
  readonly encoding: string
  /** True if the connection is encrypted; behind a pooler, if the pooler's is. */
  readonly tls: boolean
  readonly isPooled: boolean
  /** Names of settings that the server or a pooler refuses. */
  readonly refused: readonly string[]
  /** Names of settings with which a crash of the server loses committed data. */
  readonly lossy: readonly string[]
  readonly isReadOnly: boolean
  /** True if the server follows a primary or is being restored. */
  readonly isStandby: boolean
  /** True if a statement and an answer larger than a packet arrived. */
  readonly isWide: boolean
  /** Lead of the server's clock over ours in ms, accurate to the duration of a query. */
  readonly aheadMs: number
}

/** Connects as the service does, and describes the server. */
export async function describeServer(databaseUrl: string): Promise<Server> {
  const ours = { settings: SETTINGS, optionalSettings: OPTIONAL_SETTINGS, applicationName: APPLICATION_NAME }
  const { client, transactionStart, isReadOnly, refused } = await createConnector({ databaseUrl, ...ours })()
  try {
    const askedMs = Date.now()
    const { rows } = await client.query<
      Omit<Server, 'isPooled' | 'refused' | 'isReadOnly' | 'isWide' | 'aheadMs'> & { serverMs: number }
    >(`
      SELECT current_setting('server_version') AS version, current_setting('server_encoding') AS encoding, ssl AS tls,
        pg_is_in_recovery() AS "isStandby", extract(epoch FROM clock_timestamp())::float8 * 1000 AS "serverMs",
        ARRAY(
          SELECT name FROM unnest('{fsync, full_page_writes, synchronous_commit}'::text[]) AS name WHERE current_setting(name) = 'off'
        ) AS lossy
      FROM pg_stat_ssl WHERE pid = pg_backend_pid()`)
    const answeredMs = Date.now()
    const unknown = {
      version: 'unknown',
      encoding: 'unknown',
      tls: false,
      lossy: [],
      isStandby: false,
      serverMs: answeredMs,
    }
    const [{ serverMs, ...found } = unknown] = rows
    const isPooled = transactionStart !== null
    const isWide = await passesLargePackets(client)
    return { ...found, isPooled, refused, isReadOnly, isWide, aheadMs: serverMs - (askedMs + answeredMs) / 2 }
  } finally {
    await client.end()
  }
}

/** Larger than a packet of any network. */
const LARGE_BYTES = 70_000
const LARGE_ANSWER_MS_MAX = 3_000

/** False if the network drops large packets, since small ones were answered before. Closes the connection then. */
async function passesLargePackets(client: pg.Client): Promise<boolean> {
  const text = `SELECT repeat('x', ${LARGE_BYTES}) /* ${'x'.repeat(LARGE_BYTES)} */`
  try {
    await client.query({ text, query_timeout: LARGE_ANSWER_MS_MAX } as pg.QueryConfig)
    return true
  } catch (error) {
    if (classifyError(error) !== 'SILENT_SERVER') throw error
    client.connection.stream.destroy()
    return false
  }
}
