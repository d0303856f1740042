import { fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { startService } from '../stack/service.ts'

/** Addresses of events, database and contacts, in the service's environment variables. */
type SideEnv = Record<string, string>

/** A program that does the whole job in its own process. */
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

/** `serve` as users run it. Other variables of the environment are passed on: BATCH_MAX=1, NODE_OPTIONS=… */
export const ours = {
  name: 'ours',
  start: async (env: SideEnv) => {
    const given = process.env as Record<string, string>
    const own = { HOST: '127.0.0.1', PORT: '0', LOG_LEVEL: 'info' }
    const service = await startService({ ...given, ...env, ...own })
    const exited = service.exited.then(
      ({ code, signal }) => `ended with ${signal ?? code}: ${service.stderr.join('\n')}`,
    )
    const { pid, url, lines, stop } = service
    return { pid, url, lines, exited, stop }
  },
} satisfies Side

/** The least that any such service does: see floor.ts. */
export const floor: Side = {
  name: 'floor',
  start: async (env) => {
    const child = fork(fileURLToPath(new URL('./floor.ts', import.meta.url)), {
      env: { ...process.env, ...env },
      // kafkajs computes a time-out of "now" as a negative number.
      execArgv: ['--disable-warning=TimeoutNegativeWarning'],
    })
    const exited = once(child, 'exit').then(([code, signal]) => `ended with ${signal ?? code}`)
    const stop = () => {
      if (child.connected) child.disconnect()
      return exited
    }
    return { pid: child.pid ?? 0, exited, stop }
  },
}
