import type { WriteStream } from 'node:fs'
import { type DatabaseProxy, startDatabaseProxy } from '../stack/database-proxy.ts'
import { type LogLine, type ServiceProcess, startService } from '../stack/service.ts'
import { until } from '../stack/until.ts'

/** Above the grace period, SHUTDOWN_GRACE: the process is to end by itself. */
const STOP_TIMEOUT_MS = 25_000

/** One `serve` process at a time, behind a way to the database of its own. */
export class Replica {
  readonly proxy: DatabaseProxy
  /** Ends that nobody asked for, and stops that were not in order. */
  readonly faults: string[] = []
  readonly #name: string
  readonly #env: Record<string, string>
  readonly #onLine: (line: LogLine) => void
  #service: ServiceProcess | null = null
  #expectsEnd = false

  private constructor(
    name: string,
    proxy: DatabaseProxy,
    env: Record<string, string>,
    onLine: (line: LogLine) => void,
  ) {
    this.#name = name
    this.proxy = proxy
    this.#env = { ...env, DATABASE_URL: proxy.url }
    this.#onLine = onLine
  }

  static async start(
    name: string,
    databaseUrl: string,
    env: Record<string, string>,
    onLine: (line: LogLine) => void,
    logFile: WriteStream,
  ): Promise<Replica> {
    const proxy = await startDatabaseProxy(databaseUrl)
    const replica = new Replica(name, proxy, env, (line) => {
      logFile.write(`${JSON.stringify(line)}\n`)
      onLine(line)
    })
    await replica.start()
    return replica
  }

  get url(): string {
    return this.#service?.url ?? ''
  }

  async start(): Promise<void> {
    this.#expectsEnd = false
    const service = await startService(this.#env, { onLine: this.#onLine })
    this.#service = service
    void service.exited.then(({ code, signal }) => {
      if (this.#expectsEnd || this.#service !== service) return
      this.faults.push(`${this.#name} ended by itself: ${code ?? signal} ${service.stderr.join('\n')}`)
    })
  }

  async kill(): Promise<void> {
    this.#expectsEnd = true
    this.#service?.kill('SIGKILL')
    await this.#service?.exited
  }

  /** SIGTERM: it is to end with 0 within its grace period. */
  async stop(): Promise<void> {
    this.#expectsEnd = true
    const service = this.#service
    if (service === null) return
    let code: number | null | undefined
    void service.exited.then((ended) => {
      code = ended.code
    })
    service.kill('SIGTERM')
    await until(() => code !== undefined, { what: 'it to stop', timeoutMs: STOP_TIMEOUT_MS }).catch(() => {})
    if (code !== 0) this.faults.push(`${this.#name} did not stop in order: ${code ?? 'it still runs'}`)
    if (code === undefined) await this.kill()
  }

  sleep(): void {
    this.#service?.kill('SIGSTOP')
  }

  wake(): void {
    this.#service?.kill('SIGCONT')
  }

  async close(): Promise<void> {
    await this.kill()
    await this.proxy.close()
  }
}
