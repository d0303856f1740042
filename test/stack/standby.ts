import type pg from 'pg'
import { onServer } from './databases.ts'
import { type Postgres, startPostgres } from './postgres.ts'
import { until } from './until.ts'

/** `synchronous`: a commit waits until the standby has it. `asynchronous`: it does not, and the standby lags. */
export type Replication = 'synchronous' | 'asynchronous'

/**
 * Starts a standby and waits until it follows.
 * @param by a URL by which it reaches the primary, if not directly
 */
export async function startStandby(
  primary: Postgres,
  { replication, by = primary.url }: { replication: Replication; by?: string },
): Promise<Postgres> {
  const { hostname, port, username } = new URL(by)
  const conninfo = `host=${hostname} port=${port} user=${username} application_name=standby sslmode=disable gssencmode=disable`
  const standby = await startPostgres({ standbyOf: { primary, by: conninfo } })
  try {
    await onServer(primary.url, (client) => follows(client, replication))
  } catch (error) {
    await standby.close()
    throw error
  }
  return standby
}

/** Resolves once it accepts writes. */
export async function promote(standby: Postgres): Promise<void> {
  await onServer(standby.url, (client) => client.query('SELECT pg_promote()'))
}

async function follows(client: pg.Client, replication: Replication): Promise<void> {
  if (replication === 'synchronous') {
    await client.query(`ALTER SYSTEM SET synchronous_standby_names = '*'`)
    await client.query('SELECT pg_reload_conf()')
  }
  const state = replication === 'synchronous' ? 'sync' : 'async'
  const found = `SELECT FROM pg_stat_replication WHERE state = 'streaming' AND sync_state = '${state}'`
  await until(async () => (await client.query(found)).rowCount === 1, { what: 'the standby to follow' })
}
