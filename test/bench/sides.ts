import { fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { startService } from '../stack/service.ts'

/** Where a side finds its events, its database and its contacts; as the service's own environment names them. */
type SideEnv = Record<string, string>

/** One of the programs that are compared: a process that does the whole job. */
export interface Side {
  readonly name: string
  start(env: SideEnv): Promise<Running>
}

export interface Running {
  readonly pid: number
  /** Resolves, to words for people, when the process has ended. */
  readonly exited: Promise<string>
  stop(): Promise<unknown>
}

/** `serve` as users run it. What else it reads from the environment is passed on: BATCH_MAX=1, NODE_OPTIONS=… */
export const ours: Side = {
  name: 'ours',
  start: async (env) => {
    const given = process.env as Record<string, string>
    const own = { HOST: '127.0.0.1', PORT: '0', LOG_LEVEL: 'info' }
    const service = await startService({ ...given, ...env, ...own })
    const exited = service.exited.then(
      ({ code, signal }) => `ended with ${signal ?? code}: ${service.stderr.join('\n')}`,
    )
    return { pid: service.pid, exited, stop: service.stop }
  },
}

/** What no such service can do without: see floor.ts. */
export const floor: Side = {
  name: 'floor',
  start: (env) => startProgram(new URL('./floor.ts', import.meta.url), env),
}

async function startProgram(program: URL, env: SideEnv): Promise<Running> {
  const child = fork(fileURLToPath(program), {
    env: { ...process.env, ...env },
    // kafkajs computes a time-out of "now" as a negative number.
    execArgv: ['--disable-warning=TimeoutNegativeWarning'],
  })
  const exited = once(child, 'exit').then(([code, signal]) => `ended with ${signal ?? code}`)
  return {
    pid: child.pid ?? 0,
    exited,
    stop: () => {
      if (child.connected) child.disconnect()
      return exited
    },
  }
}
