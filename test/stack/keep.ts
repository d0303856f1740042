import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { until } from './until.ts'

/** A program to run; `env` is added to the environment. */
export interface Command {
  file: string
  args: string[]
  env?: Record<string, string>
  uid?: number | undefined
  gid?: number | undefined
}

export type ToKeeper = { type: 'spawn'; command: Command } | { type: 'signal'; signal: NodeJS.Signals }
export type FromKeeper =
  | { type: 'ready'; dir: string }
  | { type: 'spawned'; pid: number }
  | { type: 'failed'; error: string }
  | Exited
type Exited = {
  type: 'exited'
  code: number | null
  signal: NodeJS.Signals | null
}

export interface KeepOptions {
  /** Names the temporary directory and the errors. */
  name: string
  /** Kept at the end where given; a temporary directory, removed at the end, where not. */
  dir?: string | undefined
  /** Asks the process for an orderly end. */
  stopSignal: NodeJS.Signals
  /** Ends the process when nobody waits for it any more, because this process has gone. */
  abandonSignal: NodeJS.Signals
  /** How long an orderly end may take before SIGKILL. */
  stopTimeoutMs?: number
}

/** A server that tests may stop, kill and start again. */
export interface LocalServer {
  /** Starts it again on the same port with the same data, after `stop` or `kill`. */
  start(): Promise<void>
  /** Orderly shutdown: open connections are broken off. The data stays. */
  stop(): Promise<void>
  /** SIGKILL to all of its processes. The data stays. */
  kill(): Promise<void>
  /** Stops it and removes its data, unless their directory was given. */
  close(): Promise<void>
  /** The id of its first process; undefined while it is stopped. */
  pid(): number | undefined
  /** Resolves, to how it ended, when the process that runs now has. */
  ended(): Promise<string>
  /** The end of what it has written to its log. */
  logTail(): Promise<string>
}

const LOG_TAIL_CHARS = 2_000

/** One directory, and at most one process in it, that never outlive this process, however it ends. */
export class Keeper {
  readonly dir: string
  readonly #options: KeepOptions
  readonly #fork: ChildProcess
  #pid: number | undefined
  #exited: Promise<Exited> | undefined

  constructor(options: KeepOptions, keeperFork: ChildProcess, dir: string) {
    this.#options = options
    this.#fork = keeperFork
    this.dir = dir
  }

  /** Process id of the running process; undefined while there is none. */
  get pid(): number | undefined {
    return this.#pid
  }

  /** Runs a program to its end. @throws when it fails, with the end of its output */
  async run(command: Command): Promise<void> {
    await this.#spawn(command)
    const exit = await this.#exited
    if (exit?.code !== 0)
      throw await this.#failure(`${command.file} ended with ${exit?.code ?? exit?.signal}`)
  }

  /** Starts a server and waits until it is ready. @throws when it ends or is not ready in time */
  async start(command: Command, isReady: () => Promise<boolean>, timeoutMs: number): Promise<void> {
    await this.#spawn(command)
    const ready = async () => this.#pid === undefined || (await isReady())
    try {
      await until(ready, {
        timeoutMs,
        what: `${this.#options.name} to be ready`,
      })
    } catch (error) {
      await this.kill()
      throw await this.#failure((error as Error).message, error)
    }
    if (this.#pid === undefined) throw await this.#failure('it ended during its start')
  }

  /** Resolves when the process that runs now has ended, to how it did: `exit code 1` or `SIGKILL`. */
  async ended(): Promise<string> {
    try {
      const exit = await this.#exited
      return exit?.signal ?? `exit code ${exit?.code}`
    } catch (error) {
      return (error as Error).message
    }
  }

  /** Orderly end of the process; the directory stays, so that it can be started again. */
  async stop(): Promise<void> {
    await this.#end(this.#options.stopSignal)
  }

  /** SIGKILL. The directory stays, so that the process can be started again. */
  async kill(): Promise<void> {
    await this.#end('SIGKILL')
  }

  /** Orderly end of the process, then removal of the directory if it was a temporary one. */
  async close(): Promise<void> {
    await this.stop()
    if (!this.#fork.connected) return
    this.#fork.ref()
    const gone = once(this.#fork, 'exit')
    this.#fork.disconnect()
    await gone
  }

  /** The control that others have over the server that `start` starts. */
  server(start: () => Promise<void>): LocalServer {
    return {
      start,
      stop: () => this.stop(),
      kill: () => this.kill(),
      close: () => this.close(),
      pid: () => this.pid,
      ended: () => this.ended(),
      logTail: () => this.logTail(),
    }
  }

  /** The end of what the process has written to its standard output and error. */
  async logTail(): Promise<string> {
    const text = await readFile(join(this.dir, 'log'), 'utf8').catch(() => '')
    return text.slice(-LOG_TAIL_CHARS)
  }

  async #spawn(command: Command): Promise<void> {
    if (this.#pid !== undefined) throw new Error(`${this.#options.name} is running already`)
    if (!this.#fork.connected) throw new Error(`${this.#options.name} is closed`)
    setReferenced(this.#fork, true)
    const answer = nextMessage(this.#fork, 'spawned', 'failed')
    // Awaited from now on: a process that ends at once is reported together with its start.
    const exited = nextMessage(this.#fork, 'exited', 'failed')
    exited.catch(() => {})
    send(this.#fork, { type: 'spawn', command })
    const spawned = await answer
    if (spawned.type === 'failed') {
      setReferenced(this.#fork, false)
      throw new Error(`${this.#options.name} did not start: ${spawned.error}`)
    }
    this.#pid = spawned.pid
    this.#exited = exited.then((exit) => {
      this.#pid = undefined
      setReferenced(this.#fork, false)
      return exit as Exited
    })
    this.#exited.catch(() => {})
  }

  async #end(signal: NodeJS.Signals): Promise<void> {
    if (this.#pid === undefined) return
    send(this.#fork, { type: 'signal', signal })
    const { name, stopTimeoutMs = 10_000 } = this.#options
    const killer = setTimeout(() => {
      console.error(`${name} did not stop within ${stopTimeoutMs} ms of ${signal}: killed`)
      send(this.#fork, { type: 'signal', signal: 'SIGKILL' })
    }, stopTimeoutMs)
    await this.#exited
    clearTimeout(killer)
  }

  async #failure(what: string, cause?: unknown): Promise<Error> {
    return new Error(`${this.#options.name}: ${what}\n${await this.logTail()}`, { cause })
  }
}

/** Starts the keeper process of one server; `keeper.ts` says what it is for. */
export async function keep(options: KeepOptions): Promise<Keeper> {
  const keeperFork = fork(
    fileURLToPath(new URL('./keeper.ts', import.meta.url)),
    [options.name, options.dir ?? '', options.abandonSignal],
    // Neither the flags nor the hooks of a test runner concern it, and it holds none of our output open.
    {
      detached: true,
      stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
      execArgv: [],
      env: plainEnvironment(),
    },
  )
  const ready = await nextMessage(keeperFork, 'ready')
  setReferenced(keeperFork, false)
  return new Keeper(options, keeperFork, ready.dir)
}

function plainEnvironment(): NodeJS.ProcessEnv {
  const { NODE_OPTIONS: _, NODE_V8_COVERAGE: __, ...environment } = process.env
  return environment
}

/** An idle keeper must not hold this process open; a running server does, as any server would. */
function setReferenced(keeperFork: ChildProcess, referenced: boolean): void {
  if (referenced) {
    keeperFork.ref()
    keeperFork.channel?.ref()
  } else {
    keeperFork.unref()
    keeperFork.channel?.unref()
  }
}

function send(keeperFork: ChildProcess, message: ToKeeper): void {
  // One that has just died tells so by its exit; without a callback the failed write would end this process.
  if (keeperFork.connected) keeperFork.send(message, () => {})
}

type MessageOf<T extends FromKeeper['type']> = Extract<FromKeeper, { type: T }>

function nextMessage<T extends FromKeeper['type']>(
  keeperFork: ChildProcess,
  ...types: T[]
): Promise<MessageOf<T>> {
  return new Promise((resolve, reject) => {
    const onMessage = (message: FromKeeper) => {
      if (!types.includes(message.type as T)) return
      settle()
      resolve(message as MessageOf<T>)
    }
    const onExit = (code: number | null, signal: string | null) => {
      settle()
      reject(new Error(`the keeper process ended with ${code ?? signal}`))
    }
    const settle = () => {
      keeperFork.off('message', onMessage)
      keeperFork.off('exit', onExit)
    }
    keeperFork.on('message', onMessage)
    keeperFork.on('exit', onExit)
  })
}
