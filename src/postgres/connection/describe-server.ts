import { createConnector } from './connect.ts'
import { APPLICATION_NAME, SETTINGS } from './pool.ts'

export interface Server {
  readonly version: string
  readonly encoding: string
  /** True for the connection that reaches the server; behind a pooler, for the pooler's. */
  readonly tls: boolean
  readonly isPooled: boolean
  readonly isReadOnly: boolean
  /** The server follows a primary, or is being restored. */
  readonly isStandby: boolean
}

/** Connects as the service does, and describes the server. */
export async function describeServer(databaseUrl: string): Promise<Server> {
  const connect = createConnector({ databaseUrl, settings: SETTINGS, applicationName: APPLICATION_NAME })
  const { client, isPooled, isReadOnly } = await connect()
  try {
    const { rows } = await client.query<Pick<Server, 'version' | 'encoding' | 'tls' | 'isStandby'>>(`
      SELECT current_setting('server_version') AS version, current_setting('server_encoding') AS encoding, ssl AS tls,
        pg_is_in_recovery() AS "isStandby"
      FROM pg_stat_ssl WHERE pid = pg_backend_pid()`)
    const [found = { version: 'unknown', encoding: 'unknown', tls: false, isStandby: false }] = rows
    return { ...found, isPooled, isReadOnly }
  } finally {
    await client.end()
  }
}
