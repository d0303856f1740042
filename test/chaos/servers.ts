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
  /** Kills the primary after so long beside a standby, and has that take its place. Throws where a commit that it had is gone. */
  failOver(replication: Replication, durationMs: number): Promise<boolean>
  close(): Promise<void>
}

export async function startServers(log: (line: string) => void): Promise<Servers> {
  let primary = await startPostgres()
  const address = await startDatabaseProxy(primary.url)

  /** The primary is killed, and the standby promoted, also where something else fails meanwhile. */
  async function failOver(replication: Replication, durationMs: number): Promise<boolean> {
    const way = await startDatabaseProxy(primary.url)
    const { hostname, port, username } = new URL(way.url)
    const by = `host=${hostname} port=${port} user=${username} application_name=standby sslmode=disable gssencmode=disable`
    const standby = await startPostgres({ standbyOf: { primary, by } })
    await follows(primary.url, replication)
    // A standby that lags: what it is sent from now on stays under way.
    if (replication === 'asynchronous') way.freeze()
    await sleep(durationMs)
    const before = await checkpoints(primary.url)
    await primary.kill()
    await way.close()
    await query(standby.url, 'SELECT pg_promote()')
    const after = await checkpoints(standby.url)
    const lost = [...before].reduce((sum, [place, offset]) => sum + offset - (after.get(place) ?? -1), 0)
    if (replication === 'synchronous' && lost > 0) throw new Error(`the fail-over lost ${lost} messages`)
    if (lost > 0) log(`the fail-over lost the commits of ${lost} messages`)
    const old = primary
    primary = standby
    address.pointTo(standby.url)
    await old.close()
    return replication === 'synchronous' || lost > 0
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

/** Those of all databases that have some. */
async function checkpoints(serverUrl: string): Promise<ReadonlyMap<string, number>> {
  const found = new Map<string, number>()
  const names = await query(serverUrl, `SELECT datname FROM pg_database WHERE datname LIKE 'test_%'`)
  for (const { datname } of names) {
    const url = new URL(serverUrl)
    url.pathname = datname
    const rows = await query(
      url.href,
      'SELECT topic, partition_id, "offset"::float8 FROM notifications.projection_checkpoints',
    )
    for (const { topic, partition_id, offset } of rows) found.set(`${topic}/${partition_id}`, offset)
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
