#!/usr/bin/env -S MALLOC_ARENA_MAX=1 node --max-semi-space-size=16 --heap-growing-percent=130 --max-old-space-size=1024
// Without --heap-growing-percent V8 collects only after 200 MB of garbage; with --max-old-space-size alone it collects all
// the time. The limit leaves room for 16 MB of JSON, which can take 400 MB in memory. Each malloc arena would add 8 MB.
import { Command, CommanderError } from 'commander'
import { UnreadableFileError } from './app/policy.ts'
import { doctorCommand } from './commands/doctor.ts'
import { eraseCommand } from './commands/erase.ts'
import { migrateCommand } from './commands/migrate.ts'
import { notToldCommand } from './commands/not-told.ts'
import { pruneCommand } from './commands/prune.ts'
import { rejectedCommand } from './commands/rejected.ts'
import { replayCommand } from './commands/replay.ts'
import { rulesCommand } from './commands/rules.ts'
import { serveCommand } from './commands/serve.ts'
import { UsageError } from './commands/terminal/usage-error.ts'
import { whyCommand } from './commands/why.ts'
import { ConfigError } from './config/config.ts'
import { EnvelopeMapError } from './core/event/envelope-map.ts'
import { PromisesError, RuleTableError } from './core/rules/errors.ts'
import { TemplateError } from './core/templates/errors.ts'
import { UnusableDatabaseError } from './postgres/connection/with-database.ts'

/** Errors that the user can correct: only their message is printed. Anything else is a bug, printed with its stack. */
const EXPECTED = [
  ConfigError,
  RuleTableError,
  PromisesError,
  EnvelopeMapError,
  UnreadableFileError,
  UnusableDatabaseError,
  UsageError,
  TemplateError,
]

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
  .addCommand(serveCommand, { isDefault: true })
  .addCommand(migrateCommand)
  .addCommand(replayCommand)
  .addCommand(rulesCommand)
  .addCommand(rejectedCommand)
  .addCommand(doctorCommand)
  .addCommand(whyCommand)
  .addCommand(notToldCommand)
  .addCommand(eraseCommand)
  .addCommand(pruneCommand)

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
  const expected = EXPECTED.some((kind) => error instanceof kind)
  const { message, stack } = error instanceof Error ? error : new Error(String(error))
  process.stderr.write(`${expected ? message : stack}\n`)
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
