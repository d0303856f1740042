import { createConnector } from './connect.ts'
import { APPLICATION_NAME, SETTINGS } from './pool.ts'

export interface Server {
  readonly version: string
  /** Of the connection that reaches the server: of the pooler's, where there is one. */
  readonly tls: boolean
  readonly isPooled: boolean
  readonly isReadOnly: boolean
}

/** Connects as the service does, and says what it finds. */
export async function describeServer(databaseUrl: string): Promise<Server> {
  const connect = createConnector({ databaseUrl, settings: SETTINGS, applicationName: APPLICATION_NAME })
  const { client, isPooled, isReadOnly } = await connect()
  try {
    const { rows } = await client.query<Pick<Server, 'version' | 'tls'>>(`
      SELECT current_setting('server_version') AS version, ssl AS tls
      FROM pg_stat_ssl WHERE pid = pg_backend_pid()`)
    const [found = { version: 'unknown', tls: false }] = rows
    return { ...found, isPooled, isReadOnly }
  } finally {
    await client.end()
  }
}
