#!/usr/bin/env -S MALLOC_ARENA_MAX=1 node --max-semi-space-size=16 --heap-growing-percent=130 --max-old-space-size=1024
// The same settings as in bound-memory.ts, so that Node need not start twice.
import { Command, CommanderError } from 'commander'
import { boundMemory } from './commands/terminal/bound-memory.ts'
import { UsageError } from './commands/terminal/usage-error.ts'
import { CorrectableError } from './core/text/correctable-error.ts'

/** Each loads what it needs, which can take half a second. */
const COMMANDS = {
  serve: async () => (await import('./commands/serve.ts')).serveCommand,
  migrate: async () => (await import('./commands/migrate.ts')).migrateCommand,
  replay: async () => (await import('./commands/replay.ts')).replayCommand,
  rules: async () => (await import('./commands/rules.ts')).rulesCommand,
  templates: async () => (await import('./commands/templates.ts')).templatesCommand,
  rejected: async () => (await import('./commands/rejected.ts')).rejectedCommand,
  doctor: async () => (await import('./commands/doctor.ts')).doctorCommand,
  why: async () => (await import('./commands/why.ts')).whyCommand,
  'not-told': async () => (await import('./commands/not-told.ts')).notToldCommand,
  erase: async () => (await import('./commands/erase.ts')).eraseCommand,
  prune: async () => (await import('./commands/prune.ts')).pruneCommand,
}

const program = new Command('notifications-service')
  .description('Turns domain events from Kafka into member messages and writes one log row for each event.')
  .showHelpAfterError()
  .addHelpText(
    'after',
    `
Exit codes: 0 success, 1 failure or a problem found, 2 wrong usage. See each command's --help for its own.

Example:
  $ notifications-service doctor`,
  )

const asked = process.argv[2] ?? ''
if (asked === 'serve' || asked === '') boundMemory()
for (const [name, load] of Object.entries(COMMANDS)) {
  if (name === asked || !Object.hasOwn(COMMANDS, asked))
    program.addCommand(await load(), { isDefault: name === 'serve' })
}
throwInsteadOfExiting(program)
// The reader, such as `head`, has closed the pipe.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error
  process.exit(1)
})
try {
  await program.parseAsync()
} catch (error) {
  if (error instanceof CommanderError) process.exit(exitCodeOf(error))
  const { message, stack } = error instanceof Error ? error : new Error(String(error))
  process.stderr.write(`${error instanceof CorrectableError ? message : stack}\n`)
  process.exit(error instanceof UsageError ? 2 : 1)
}

/** Subcommands do not inherit it. */
function throwInsteadOfExiting(command: Command): void {
  command.exitOverride()
  for (const subCommand of command.commands) throwInsteadOfExiting(subCommand)
}

/** commander has printed the message. A command's own error has its own code; all others are wrong usage. */
function exitCodeOf({ code, exitCode }: CommanderError): number {
  return exitCode === 0 || code === 'commander.error' ? exitCode : 2
}
