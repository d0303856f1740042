import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { startPostgres } from '../stack/postgres.ts'
import { until } from '../stack/until.ts'
import { startDatabaseProxy } from './database-proxy.ts'

/** `synchronous`: a commit waits until the standby has it. `asynchronous`: it does not, and the standby lags. */
export type Replication = 'synchronous' | 'asynchronous'

export interface Servers {
  /** The address of whichever server is the primary. */
  readonly url: string
  /** Ends the primary at once, and starts it again. False while it is down already. */
  crash(durationMs: number): Promise<boolean>
  /**
   * Kills the primary after so long beside a standby, and has that take its place. What was under way breaks off, whether or not
   * commits are lost. Throws where one is gone that the standby had.
   */
  failOver(replication: Replication, durationMs: number): Promise<true>
  close(): Promise<void>
}

export async function startServers(log: (line: string) => void): Promise<Servers> {
  let primary = await startPostgres()
  const address = await startDatabaseProxy(primary.url)

  /** The primary is killed, and the standby promoted, also where something else fails meanwhile. */
  async function failOver(replication: Replication, durationMs: number): Promise<true> {
    const way = await startDatabaseProxy(primary.url)
    const { hostname, port, username } = new URL(way.url)
    const by = `host=${hostname} port=${port} user=${username} application_name=standby sslmode=disable gssencmode=disable`
    const standby = await startPostgres({ standbyOf: { primary, by } })
    await follows(primary.url, replication)
    // A standby that lags: what it is sent from now on stays under way.
    if (replication === 'asynchronous') way.freeze()
    await sleep(durationMs)
    const before = await committed(primary.url)
    await primary.kill()
    await way.close()
    await query(standby.url, 'SELECT pg_promote()')
    const after = await committed(standby.url)
    const lost = [...before]
      .map(([what, count]) => [what, count - (after.get(what) ?? -1)] as const)
      .filter(([, count]) => count > 0)
      .map(([what, count]) => `${count} of ${what}`)
      .join(', ')
    if (replication === 'synchronous' && lost !== '') throw new Error(`the fail-over lost ${lost}`)
    if (lost !== '') log(`the fail-over lost ${lost}`)
    const old = primary
    primary = standby
    address.pointTo(standby.url)
    await old.close()
    return true
  }

  return {
    url: address.url,
    crash: async (durationMs) => {
      const pid = primary.pid()
      if (pid === undefined) return false
      // What `pg_ctl stop -m immediate` does.
      process.kill(pid, 'SIGQUIT')
      await primary.ended()
      await sleep(durationMs)
      await primary.start()
      return true
    },
    failOver,
    close: async () => {
      await address.close()
      await primary.close()
    },
  }
}

async function follows(url: string, replication: Replication): Promise<void> {
  if (replication === 'synchronous') {
    await query(url, `ALTER SYSTEM SET synchronous_standby_names = '*'`)
    await query(url, 'SELECT pg_reload_conf()')
  }
  const state = replication === 'synchronous' ? 'sync' : 'async'
  const found = `SELECT FROM pg_stat_replication WHERE state = 'streaming' AND sync_state = '${state}'`
  await until(async () => (await query(url, found)).length > 0, { what: 'the standby to follow' })
}

/** The offset of each checkpoint, and how many decisions there are: a retry moves no checkpoint. Of all databases that have some. */
async function committed(serverUrl: string): Promise<ReadonlyMap<string, number>> {
  const found = new Map<string, number>()
  const names = await query(serverUrl, `SELECT datname FROM pg_database WHERE datname LIKE 'test_%'`)
  for (const { datname } of names) {
    const url = new URL(serverUrl)
    url.pathname = datname
    const rows = await query(
      url.href,
      `SELECT topic || '/' || partition_id AS what, "offset"::float8 AS count FROM notifications.projection_checkpoints
      UNION ALL SELECT 'decisions', count(*) FROM notifications.decision`,
    )
    for (const { what, count } of rows) found.set(`${what} in ${datname}`, count)
  }
  return found
}

async function query(url: string, text: string): Promise<pg.QueryResultRow[]> {
  const client = new pg.Client({ connectionString: url })
  client.on('error', () => {})
  await client.connect()
  try {
    return (await client.query(text)).rows
  } finally {
    await client.end()
  }
}
