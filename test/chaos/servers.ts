import { setTimeout as sleep } from 'node:timers/promises'
import type pg from 'pg'
import { startDatabaseProxy } from '../stack/database-proxy.ts'
import { onServer } from '../stack/databases.ts'
import { promote, type Replication, startPostgres, startStandby } from '../stack/postgres.ts'
import { children } from '../stack/processes.ts'

export interface Servers {
  /** The address of whichever server is the primary. */
  readonly url: string
  /** Ends the primary at once, and starts it again. False while it is down already. */
  crash(durationMs: number): Promise<boolean>
  /** Lets the primary stand still, with all its processes. False while it is down. */
  freeze(durationMs: number): Promise<boolean>
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
    const standby = await startStandby(primary, { replication, by: way.url })
    // The standby lags: it receives nothing from now on.
    if (replication === 'asynchronous') way.freeze()
    await sleep(durationMs)
    const before = await committed(primary.url)
    await primary.kill()
    await way.close()
    await promote(standby)
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
      // As `pg_ctl stop -m immediate` does.
      process.kill(pid, 'SIGQUIT')
      await primary.ended()
      await sleep(durationMs)
      await primary.start()
      return true
    },
    freeze: async (durationMs) => {
      const pid = primary.pid()
      if (pid === undefined) return false
      const processes = [pid, ...children(pid)]
      for (const each of processes) process.kill(each, 'SIGSTOP')
      await sleep(durationMs)
      for (const each of processes) process.kill(each, 'SIGCONT')
      return true
    },
    failOver,
    close: async () => {
      await address.close()
      await primary.close()
    },
  }
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
  return onServer(url, async (client) => (await client.query(text)).rows)
}
