import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { rmSync } from 'node:fs'
import { mkdir, mkdtemp, readFile, rm } from 'node:fs/promises'
import { constants, tmpdir } from 'node:os'
import { join } from 'node:path'
import { until } from './until.ts'

/** A program to run; `env` is added to the environment. */
export interface Command {
  readonly file: string
  readonly args: readonly string[]
  readonly env?: Readonly<Record<string, string>>
  readonly uid?: number | undefined
  readonly gid?: number | undefined
}

/** A keeper's description of its program. */
export interface Kept extends Omit<Command, 'env'> {
  readonly dir: string
  readonly isTemporary: boolean
  /** Ends the program once nobody waits for it any more, because the process that started it is gone. */
  readonly abandonSignal: NodeJS.Signals
}

interface Running {
  readonly keeper: ChildProcess
  /** Resolves to how the program ended. */
  readonly ended: Promise<string>
  pid?: number
}

interface KeepOptions {
  /** Names the temporary directory and the errors. */
  readonly name: string
  /** Kept at the end; without it, a temporary directory is removed then. */
  readonly dir?: string | undefined
  /** Asks the program for an orderly end. */
  readonly stopSignal: NodeJS.Signals
  readonly abandonSignal: NodeJS.Signals
  /** Time for an orderly end before SIGKILL. */
  readonly stopTimeoutMs?: number
}

export type Keeper = Awaited<ReturnType<typeof keep>>
/** A server that tests may stop, kill and start again, on the same port and with the same data. */
export type LocalServer = Omit<Keeper, 'dir' | 'run' | 'start'> & { start(): Promise<void> }

const KEEPER = join(import.meta.dirname, 'keeper.ts')
const LOG_TAIL_CHARS = 2_000

/** A directory with at most one program, which never outlives this process, however it ends. */
export async function keep({ name, dir: given, stopTimeoutMs = 10_000, ...signals }: KeepOptions) {
  const dir = given ?? (await mkdtemp(join(tmpdir(), `notifications-${name}-`)))
  await mkdir(dir, { recursive: true })
  const isTemporary = given === undefined
  let running = null as Running | null
  // A running program has its keeper for this.
  process.once('exit', () => {
    if (isTemporary && running === null) rmSync(dir, { recursive: true, force: true })
  })

  async function spawn({ env, ...command }: Command) {
    if (running !== null) throw new Error(`${name} is running already`)
    const kept: Kept = { ...command, dir, isTemporary, abandonSignal: signals.abandonSignal }
    const keeper = fork(KEEPER, [JSON.stringify(kept)], {
      detached: true,
      // It must not hold our output open, nor inherit flags and hooks of the test runner.
      stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
      execArgv: [],
      env: { ...process.env, NODE_OPTIONS: '', ...env },
    })
    const ended = once(keeper, 'exit').then(([code, signal]) => {
      running = null
      return signal ?? wordsOf(code)
    })
    const started: Running = { keeper, ended }
    running = started
    const pid = await Promise.race([once(keeper, 'message').then(([sent]) => Number(sent)), ended])
    if (typeof pid === 'string') throw await failure(`${command.file} did not start (${pid})`)
    started.pid = pid
    return started
  }

  /** A keeper that has just died reports by its exit; without a callback the failed write would end this process. */
  function send(keeper: ChildProcess, signal: NodeJS.Signals): void {
    if (keeper.connected) keeper.send(signal, () => {})
  }

  async function end(signal: NodeJS.Signals): Promise<void> {
    if (running === null) return
    const { keeper, ended } = running
    send(keeper, signal)
    const killer = setTimeout(() => {
      console.error(`${name} did not stop within ${stopTimeoutMs} ms of ${signal}: killed`)
      send(keeper, 'SIGKILL')
    }, stopTimeoutMs)
    await ended
    clearTimeout(killer)
  }

  /** The end of what the program has written to its standard output and error. */
  async function logTail(): Promise<string> {
    return (await readFile(join(dir, 'log'), 'utf8').catch(() => '')).slice(-LOG_TAIL_CHARS)
  }

  async function failure(what: string, cause?: unknown): Promise<Error> {
    return new Error(`${name}: ${what}\n${await logTail()}`, { cause })
  }

  return {
    dir,
    logTail,
    /** Runs a program to its end. Throws if it fails, with the end of its output. */
    run: async (command: Command): Promise<void> => {
      const ended = await (await spawn(command)).ended
      if (ended !== wordsOf(0)) throw await failure(`${command.file} ended with ${ended}`)
    },
    /** Starts a server and waits until it is ready. Throws if it ends, or is not ready in time. */
    start: async (command: Command, isReady: () => Promise<boolean>, timeoutMs: number): Promise<void> => {
      await spawn(command)
      try {
        await until(async () => running === null || (await isReady()), {
          timeoutMs,
          what: `${name} to be ready`,
        })
      } catch (error) {
        await end('SIGKILL')
        throw await failure((error as Error).message, error)
      }
      if (running === null) throw await failure('it ended during its start')
    },
    /** The id of the running program; undefined while there is none. */
    pid: () => running?.pid,
    /** Resolves when the running program has ended, to how it did: `exit code 1` or `SIGKILL`. */
    ended: async () => running?.ended ?? 'it does not run',
    /** Orderly end: open connections are broken off, and the data stays. */
    stop: () => end(signals.stopSignal),
    /** SIGKILL. The data stays. */
    kill: () => end('SIGKILL'),
    /** Orderly end, and removal of a temporary directory. */
    close: async (): Promise<void> => {
      await end(signals.stopSignal)
      if (isTemporary) await rm(dir, { recursive: true, force: true, maxRetries: 5 })
    },
  }
}

function wordsOf(exitCode: number): string {
  const [signal] = Object.entries(constants.signals).find(([, number]) => number === exitCode - 128) ?? []
  return signal ?? `exit code ${exitCode}`
}
