import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { text } from 'node:stream/consumers'
import { EXECUTABLE_ENV, MAIN } from '../stack/executable.ts'

const TIME_MAX_MS = 60_000

export interface Ended {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

/** Runs the command line to its end, in an environment that holds nothing else. `main` is another copy of it. */
export async function command(args: string[], env: Record<string, string>, main = MAIN): Promise<Ended> {
  const child = spawn(process.execPath, [main, ...args], {
    env: { ...EXECUTABLE_ENV, HOST: '127.0.0.1', PORT: '0', ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: TIME_MAX_MS,
    killSignal: 'SIGKILL',
  })
  const [[code], stdout, stderr] = await Promise.all([
    once(child, 'close'),
    text(child.stdout),
    text(child.stderr),
  ])
  return { code, stdout, stderr }
}
