import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { Socket } from 'node:net'
import { createInterface } from 'node:readline'
import { EXECUTABLE_ENV, MAIN } from './executable.ts'
import { until } from './until.ts'

/** Some of it is looked at once a minute. */
const LOGGED_MAX_MS = 90_000

export interface LogLine {
  readonly level: string
  readonly msg: string
  readonly [field: string]: unknown
}

export type Service = Awaited<ReturnType<typeof serveHere>>
export type ServiceProcess = Awaited<ReturnType<typeof startService>>

const LINE_COUNT_MAX = 10_000
const LISTENING = /^listening$/

/** Runs the service in this process, which takes a third of the time of another process. Resolves once it listens. */
export async function serveHere(env: Record<string, string>) {
  const [{ createService }, { loadConfig }, { createLog }] = await Promise.all([
    import('../../src/serve.ts'),
    import('../../src/service/config/config.ts'),
    import('../../src/service/telemetry/log.ts'),
  ])
  const config = loadConfig({ HOST: '127.0.0.1', PORT: '0', LOG_LEVEL: 'debug', ...env })
  const { lines, note, logged, managementUrl } = createJournal(() => false)
  const log = createLog(config.logLevel, { write: (line) => note(JSON.parse(line)) })
  for (const warning of config.warnings) log.warn(warning)
  const app = await createService(config, log)
  return {
    url: await app.start(),
    lines,
    stderr: [] as readonly string[],
    logged,
    managementUrl,
    /** Resolves as the stop of a process does. */
    stop: async (): Promise<number | null> => {
      await app.stop()
      releaseSockets(config.broker.connection.brokers)
      return 0
    },
  }
}

/** kafkajs may leave a connection open, which must not keep this process alive: a service ends by `process.exit`. */
function releaseSockets(brokers: readonly string[]): void {
  const ports = brokers.map((broker) => Number(broker.split(':').at(-1)))
  const { _getActiveHandles: handles } = process as unknown as { _getActiveHandles: () => unknown[] }
  for (const handle of handles())
    if (handle instanceof Socket && ports.includes(handle.remotePort ?? 0)) handle.unref()
}

/** The last 10,000 log lines of a service. @param isOver no more will come */
function createJournal(isOver: () => boolean) {
  const lines: LogLine[] = []
  /** Waits until there is a line with this message. */
  const logged = async (message: RegExp): Promise<LogLine> => {
    const find = () => lines.find(({ msg }) => message.test(msg)) ?? isOver()
    const found = await until(find, { what: `the service to log ${message}`, timeoutMs: LOGGED_MAX_MS })
    if (typeof found === 'boolean') throw new Error(`the service ended before it logged ${message}`)
    return found
  }
  return {
    lines: lines as readonly LogLine[],
    note: (line: LogLine): void => {
      lines.push(line)
      if (lines.length > LINE_COUNT_MAX) lines.shift()
    },
    logged,
    /** Base address of the management listener. */
    managementUrl: async () => String((await logged(/^the management listener is up$/)).url),
  }
}

/**
 * Starts `serve` as users run it, on a free port, and resolves once it listens. `onLine` sees its log as it comes; `main` is
 * another copy of the program.
 */
export async function startService(
  env: Record<string, string>,
  { onLine = () => {}, main = MAIN }: { onLine?: (line: LogLine) => void; main?: string } = {},
) {
  const child = spawn(main, ['serve'], {
    env: { ...EXECUTABLE_ENV, HOST: '127.0.0.1', PORT: '0', LOG_LEVEL: 'debug', ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const stderr: string[] = []
  // Its last lines may be read after its end.
  let isOver = false
  const { lines, note, logged, managementUrl } = createJournal(() => isOver)
  createInterface({ input: child.stdout }).on('line', (line) => {
    const parsed: LogLine = JSON.parse(line)
    onLine(parsed)
    note(parsed)
  })
  createInterface({ input: child.stderr }).on('line', (line) => stderr.push(line))
  const exited = once(child, 'close').then(([code, signal]) => {
    isOver = true
    return { code, signal }
  })
  const killWithParent = () => child.kill('SIGKILL')
  process.once('exit', killWithParent)
  void exited.then(() => process.off('exit', killWithParent))

  const listening = await logged(LISTENING).catch(async (error) => {
    child.kill('SIGKILL')
    await exited
    throw new Error(stderr.join('\n'), { cause: error })
  })
  return {
    /** Base address of its HTTP server. */
    url: String(listening.url),
    pid: child.pid ?? 0,
    lines,
    /** Its standard error. */
    stderr: stderr as readonly string[],
    /** Resolves when the process has ended. */
    exited,
    logged,
    managementUrl,
    kill: (signal: NodeJS.Signals) => void child.kill(signal),
    /** SIGTERM, then SIGKILL after 30 s; resolves to the exit code. */
    stop: async (): Promise<number | null> => {
      child.kill('SIGTERM')
      const late = setTimeout(() => child.kill('SIGKILL'), 30_000)
      const { code } = await exited
      clearTimeout(late)
      return code
    },
  }
}
