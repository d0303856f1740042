import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { Readable, Writable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { Command, CommanderError } from 'commander'
import { COMMANDS } from '../../src/commands.ts'
import { CorrectableError } from '../../src/service/text/faults.ts'
import { chooseExitCode } from '../../src/terminal/options.ts'
import type { World } from '../../src/terminal/world.ts'
import { EXECUTABLE_ENV, MAIN } from '../stack/executable.ts'

const TIME_MAX_MS = 60_000

export interface Ended {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

/** What stands in for the process. */
export function worldOf(
  write: (stream: 'stdout' | 'stderr', text: string) => void,
  {
    env = {},
    isTTY = false,
    input = '',
    exit = () => {},
  }: Partial<World> & { isTTY?: boolean; input?: string },
): World {
  const outputTo = (stream: 'stdout' | 'stderr') => {
    const output = new Writable({
      decodeStrings: false,
      write: (chunk, _, done) => {
        write(stream, String(chunk))
        done()
      },
    })
    return Object.assign(output, { isTTY })
  }
  return {
    env,
    stdin: Object.assign(Readable.from([input]), { isTTY }),
    stdout: outputTo('stdout'),
    stderr: outputTo('stderr'),
    exitCode: 0,
    exit,
    once: () => {},
  }
}

/**
 * Runs a command of the command line to its end, in this process, since starting another takes longer than most commands.
 * It sees this environment alone, and has a terminal if there is an answer to type. For `serve` and `migrate`, which write to file
 * descriptors, see `spawned`.
 */
export async function command(
  [name = '', ...rest]: string[],
  env: Record<string, string>,
  answer?: string,
): Promise<Ended> {
  const written = { stdout: '', stderr: '' }
  const { promise: exited, resolve: exit } = Promise.withResolvers<number>()
  const write = (stream: keyof typeof written, text: string) => {
    written[stream] += text
  }
  const terminal = answer === undefined ? {} : { isTTY: true, input: `${answer}\n` }
  const world = worldOf(write, { env: { HOST: '127.0.0.1', PORT: '0', ...env }, exit, ...terminal })
  const ended = runCommand(name, rest, world).then(
    () => Number(world.exitCode),
    (error) => {
      if (!(error instanceof CommanderError))
        written.stderr += `${error instanceof CorrectableError ? error.message : error.stack}\n`
      return chooseExitCode(error)
    },
  )
  return { code: await Promise.race([ended, exited]), ...written }
}

/** As `main.ts` does, with the modules of this command alone. */
async function runCommand(name: string, args: string[], world: World): Promise<void> {
  const program = new Command('notifications-service')
  for (const [known, load] of Object.entries(COMMANDS))
    if (known === name) program.addCommand((await load())(world))
  const writeOut = (text: string) => void world.stdout.write(text)
  const writeErr = (text: string) => void world.stderr.write(text)
  for (const each of allOf(program)) each.exitOverride().configureOutput({ writeOut, writeErr })
  await program.parseAsync([name, ...args], { from: 'user' })
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
