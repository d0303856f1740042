import { createWriteStream } from 'node:fs'
import { startDatabaseProxy } from '../stack/database-proxy.ts'
import type { Network } from '../stack/network.ts'
import { type LogLine, type ServiceProcess, startService } from '../stack/service.ts'
import { until } from '../stack/until.ts'
import type { TableName } from './tables.ts'

/** Above the grace period, SHUTDOWN_GRACE: the process must end by itself. */
const STOP_TIMEOUT_MS = 25_000

/** Times are milliseconds since 1970; null while it runs. */
export interface Run {
  readonly table: TableName
  readonly fromMs: number
  toMs: number | null
}

export type Replica = Awaited<ReturnType<typeof startReplica>>

/** One `serve` process at a time, behind its own way to the database and to each broker. Its log goes to a file. */
export async function startReplica(
  name: string,
  databaseUrl: string,
  networks: readonly Network[],
  env: Record<string, string>,
  secondHouse: string,
  onLine: (line: LogLine) => void,
  logFile: string,
) {
  const proxy = await startDatabaseProxy(databaseUrl)
  const log = createWriteStream(logFile)
  /** Unexpected ends, and stops that were not in order. */
  const faults: string[] = []
  let service: ServiceProcess
  let expectsEnd = false
  const runs: Run[] = []
  let table: TableName = 'first'

  async function start(): Promise<void> {
    expectsEnd = false
    const run: Run = { table, fromMs: Date.now(), toMs: null }
    runs.push(run)
    const started = await startService(
      {
        ...env,
        DATABASE_URL: proxy.url,
        MQ_BROKERS: networks.map(({ port }) => `127.0.0.1:${port}`).join(),
        HOUSE: table === 'first' ? '' : secondHouse,
      },
      {
        onLine: (line) => {
          log.write(`${JSON.stringify(line)}\n`)
          onLine(line)
        },
      },
    )
    service = started
    void started.exited.then(({ code, signal }) => {
      run.toMs = Date.now()
      if (expectsEnd || service !== started) return
      faults.push(`${name} ended by itself: ${code ?? signal} ${started.stderr.join('\n')}`)
    })
  }

  async function kill(): Promise<void> {
    expectsEnd = true
    service.kill('SIGKILL')
    await service.exited
  }

  await start()
  return {
    proxy,
    networks,
    faults,
    /** Oldest first. */
    runs: runs as readonly Run[],
    url: () => service.url,
    start,
    kill,
    /** Once it starts again, it decides by the other of two rule tables. */
    changeTable: (): void => {
      table = table === 'first' ? 'second' : 'first'
    },
    /** SIGTERM: it must end with 0 within its grace period. */
    stop: async (): Promise<void> => {
      expectsEnd = true
      let code: number | null | undefined
      void service.exited.then((ended) => {
        code = ended.code
      })
      service.kill('SIGTERM')
      await until(() => code !== undefined, { what: 'it to stop', timeoutMs: STOP_TIMEOUT_MS }).catch(
        () => {},
      )
      if (code !== 0) faults.push(`${name} did not stop in order: ${code ?? 'it still runs'}`)
      if (code === undefined) await kill()
    },
    sleep: () => service.kill('SIGSTOP'),
    wake: () => service.kill('SIGCONT'),
    close: async (): Promise<void> => {
      await kill()
      await proxy.close()
      log.end()
    },
  }
}
