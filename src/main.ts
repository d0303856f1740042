#!/bin/sh
':' //; node= stop=; [ $$ = 1 ] && trap 'stop=1; [ "$node" ] && kill -TERM "$node"' TERM INT HUP
':' //; . "$(dirname "$(readlink -f "$0")")/launch.sh"
// A shell runs the two lines above, which JavaScript ignores: launch.sh starts Node.js with this file, and does not return.
import { Command, CommanderError } from 'commander'
import packageJson from '../package.json' with { type: 'json' }
import { COMMANDS } from './commands.ts'
import { resolveNamesApart } from './service/app/resolve-names.ts'
import { CorrectableError } from './service/text/faults.ts'
import { withTimeout } from './service/time/with-timeout.ts'
import { chooseExitCode } from './terminal/options.ts'
import { endOnSignals } from './terminal/stop-on-signals.ts'

const LAST_OUTPUT_MS = 1_000

const [asked = 'serve', ...rest] = process.argv.slice(2)
if (asked === 'serve') endOnSignals()
resolveNamesApart()

// `node src/main.ts` with version 22.18 to 23 reaches this line.
const [nodeMajor = 0, nodeMajorMin = 0] = [process.versions.node, packageJson.engines.node].map((version) =>
  Number(/\d+/.exec(version)),
)
if (nodeMajor < nodeMajorMin) {
  await exitWith(1, `Node.js ${nodeMajorMin} or newer is required; this is ${process.version}`)
}

const commit = process.env.GIT_COMMIT ? ` (commit ${process.env.GIT_COMMIT})` : ''
const program = new Command(packageJson.name)
  .description('Turns domain events from Kafka into member messages and writes one log row for each event.')
  .version(
    `${packageJson.name} ${packageJson.version}${commit}, Node.js ${process.versions.node}`,
    '-V, --version',
    'print the version, the commit if GIT_COMMIT names it, and that of Node.js',
  )
  .showHelpAfterError('For example: notifications-service doctor  (--help shows everything)')
  .addHelpText(
    'after',
    `
Exit codes: 0 success, 1 failure or a problem found, 2 wrong usage. See each command's --help for its own.
Without a command, \`serve\` runs.

Example:
  $ notifications-service doctor`,
  )

for (const [name, load] of Object.entries(COMMANDS)) {
  if (name === asked || !Object.hasOwn(COMMANDS, asked)) program.addCommand((await load())(process))
}
throwInsteadOfExiting(program)
// The reader, such as `head`, has closed the pipe.
for (const stream of [process.stdout, process.stderr]) {
  stream.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') throw error
    process.exit(1)
  })
}
try {
  await program.parseAsync([asked, ...rest], { from: 'user' })
} catch (error) {
  const exitCode = chooseExitCode(error)
  // commander has printed its message.
  if (error instanceof CommanderError) await exitWith(exitCode)
  const { message, stack } = error instanceof Error ? error : new Error(String(error))
  if (asked === 'serve' && !process.stderr.isTTY) {
    const { createLog } = await import('./service/telemetry/log.ts')
    const fields = error instanceof CorrectableError ? {} : { err: error }
    createLog('fatal', process.stderr).fatal(fields, `cannot start: ${message}`)
    await exitWith(exitCode)
  }
  await exitWith(exitCode, error instanceof CorrectableError ? message : stack)
}

/** Ends the process once all output has gone through its pipes, whatever is still open. `serve` does not wait long for a reader. */
async function exitWith(code: number, text?: string): Promise<never> {
  if (text !== undefined) process.stderr.write(`${text}\n`)
  const written = Promise.all(
    [process.stdout, process.stderr].map((stream) => new Promise((resolve) => stream.write('', resolve))),
  )
  await (asked === 'serve' ? withTimeout(LAST_OUTPUT_MS, written, () => {}) : written)
  process.exit(code)
}

/** Subcommands do not inherit it. */
function throwInsteadOfExiting(command: Command): void {
  command.exitOverride()
  for (const subCommand of command.commands) throwInsteadOfExiting(subCommand)
}
