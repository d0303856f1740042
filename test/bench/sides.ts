import { fork } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { MAIN } from '../stack/executable.ts'
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
const serveFrom = (main: string) => async (env: SideEnv) => {
  const given = process.env as Record<string, string>
  const own = { HOST: '127.0.0.1', PORT: '0', LOG_LEVEL: 'info' }
  const service = await startService({ ...given, ...env, ...own }, { main })
  const exited = service.exited.then(
    ({ code, signal }) => `ended with ${signal ?? code}: ${service.stderr.join('\n')}`,
  )
  const { pid, stop } = service
  return { pid, exited, stop }
}

export const ours: Side = { name: 'ours', start: serveFrom(MAIN) }

/** `serve` of another checkout, whose folder is in BEFORE, with its own rules and texts. */
const before: Side = { name: 'before', start: serveFrom(join(process.env.BEFORE ?? '', 'src/main.ts')) }

/** The least that any such service does: see floor.ts. */
const floor: Side = {
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

export const SIDES = { ours, before, floor }
export type SideName = keyof typeof SIDES
/** The sides to compare in turn. */
export const SIDE_NAMES: readonly SideName[] = process.env.BEFORE
  ? ['ours', 'before', 'floor']
  : ['ours', 'floor']
