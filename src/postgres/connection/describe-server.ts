import { type DatabasePool, sql } from 'slonik'
import { z } from 'zod'

/** Which server it is, and whether this connection to it is encrypted. */
export function describeServer(pool: DatabasePool): Promise<{ version: string; tls: boolean }> {
  return pool.one(sql.type(z.object({ version: z.string(), tls: z.boolean() }))`
    SELECT current_setting('server_version') AS version, ssl AS tls
    FROM pg_stat_ssl WHERE pid = pg_backend_pid()`)
}
