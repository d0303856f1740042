import { AsyncLocalStorage } from 'node:async_hooks'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { Writable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { Command, CommanderError } from 'commander'
import { COMMANDS } from '../../src/commands.ts'
import { CorrectableError } from '../../src/service/text/faults.ts'
import { chooseExitCode } from '../../src/terminal/options.ts'
import { EXECUTABLE_ENV, MAIN } from '../stack/executable.ts'

const TIME_MAX_MS = 60_000

export interface Ended {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

/** The environment, output and exit code of each command that runs in this process. */
const runs = new AsyncLocalStorage<Partial<typeof process>>()
const ownProcess = process
Object.defineProperty(globalThis, 'process', {
  value: new Proxy(ownProcess, {
    get: (own, name) => Reflect.get(nameIn(runs.getStore(), name) ?? own, name),
    set: (own, name, value) => Reflect.set(nameIn(runs.getStore(), name) ?? own, name, value),
  }),
})
const nameIn = (run: object | undefined, name: string | symbol) => (run && name in run ? run : undefined)

/**
 * Runs a command of the command line to its end, in this process, since starting another takes longer than most commands.
 * It sees this environment alone. For `serve` and `migrate`, which write to file descriptors, see `spawned`.
 */
export function command(args: string[], env: Record<string, string>): Promise<Ended> {
  let [stdout, stderr] = ['', '']
  const { promise: exited, resolve: exit } = Promise.withResolvers<number>()
  const run = {
    env: { HOST: '127.0.0.1', PORT: '0', ...env },
    stdout: outputTo((written) => {
      stdout += written
    }),
    stderr: outputTo((written) => {
      stderr += written
    }),
    stdin: { isTTY: false },
    exitCode: 0,
    exit,
  }
  return runs.run(run as never, async () => {
    const parsed = parse(args).then(
      // A command that exits does so once its last line is written.
      () => new Promise<number>((resolve) => setImmediate(() => resolve(run.exitCode))),
      (error) => {
        if (!(error instanceof CommanderError))
          stderr += `${error instanceof CorrectableError ? error.message : error.stack}\n`
        return chooseExitCode(error)
      },
    )
    return { code: await Promise.race([parsed, exited]), stdout, stderr }
  })
}

function outputTo(add: (written: string) => void): Writable {
  return new Writable({
    decodeStrings: false,
    write: (chunk, _, done) => {
      add(String(chunk))
      done()
    },
  })
}

const programs = new Map<string, Promise<Command>>()

/** As `main.ts` does, with the modules of this command alone. */
async function parse([name = '', ...rest]: string[]): Promise<void> {
  const program = programs.get(name) ?? load(name)
  programs.set(name, program)
  await (await program).parseAsync([name, ...rest], { from: 'user' })
}

async function load(name: string): Promise<Command> {
  const program = new Command('notifications-service')
  for (const [known, loadKnown] of Object.entries(COMMANDS))
    if (known === name) program.addCommand(await loadKnown())
  const writeOut = (written: string) => void process.stdout.write(written)
  const writeErr = (written: string) => void process.stderr.write(written)
  for (const each of allOf(program)) each.exitOverride().configureOutput({ writeOut, writeErr })
  return program
}

function allOf(command: Command): Command[] {
  return [command, ...command.commands.flatMap(allOf)]
}

/** Runs the command line as a process of its own. `main` is another copy of it. */
export async function spawned(args: string[], env: Record<string, string>, main = MAIN): Promise<Ended> {
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

/** The values of an output of one JSON value a line. */
export function jsonLines(stdout: string) {
  return stdout
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line))
}
