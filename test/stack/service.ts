import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { EXECUTABLE_ENV, MAIN } from './executable.ts'
import { until } from './until.ts'

export interface LogLine {
  readonly level: string
  readonly msg: string
  readonly [field: string]: unknown
}

export type Service = Awaited<ReturnType<typeof startService>>

const LINE_COUNT_MAX = 10_000

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
  const lines: LogLine[] = []
  const stderr: string[] = []
  createInterface({ input: child.stdout }).on('line', (line) => {
    const parsed: LogLine = JSON.parse(line)
    onLine(parsed)
    lines.push(parsed)
    if (lines.length > LINE_COUNT_MAX) lines.shift()
  })
  createInterface({ input: child.stderr }).on('line', (line) => stderr.push(line))
  const exited = once(child, 'close').then(([code, signal]) => ({ code, signal }))
  const alive = () => child.exitCode === null && child.signalCode === null
  const killWithParent = () => child.kill('SIGKILL')
  process.once('exit', killWithParent)
  void exited.then(() => process.off('exit', killWithParent))

  const logged = async (message: RegExp) => {
    const found = await until(() => lines.find(({ msg }) => message.test(msg)) ?? !alive(), {
      what: `the service to log ${message}`,
    })
    if (typeof found === 'boolean') throw new Error(`the service ended: ${stderr.join('\n')}`)
    return found
  }
  const listening = await logged(/^listening$/).catch((error) => {
    child.kill('SIGKILL')
    throw error
  })
  return {
    /** Base address of its HTTP server. */
    url: String(listening.url),
    pid: child.pid ?? 0,
    /** What it has logged so far, the last 10,000 lines. */
    lines: lines as readonly LogLine[],
    /** What it has said outside its log. */
    stderr: stderr as readonly string[],
    /** Resolves when the process has ended. */
    exited,
    /** Waits until it has logged a line with this message. */
    logged,
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
