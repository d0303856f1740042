#!/usr/bin/env -S MALLOC_ARENA_MAX=1 node --max-semi-space-size=16 --heap-growing-percent=130 --max-old-space-size=1024
// Left to itself V8 lets 200 MB of garbage lie before it looks, and with the limit alone it looks at a third more than is in
// use, all the time. 16 MB of JSON unpack to 400 MB at worst: they must fit. Each arena of malloc takes 8 MB more.
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
import { EnvelopeMapError } from './core/event/envelope.ts'
import { PromisesError, RuleTableError } from './core/rules/faults.ts'
import { UnusableDatabaseError } from './postgres/connection/unusable-database.ts'

/** Faults that people are to correct: said in words. Anything else is a fault of ours and shows where. */
const EXPECTED = [
  ConfigError,
  RuleTableError,
  PromisesError,
  EnvelopeMapError,
  UnreadableFileError,
  UnusableDatabaseError,
  UsageError,
]

const program = new Command('notifications-service')
  .description('Turns domain events from Kafka into member messages and writes one log row for each.')
  .showHelpAfterError()
  .addHelpText(
    'after',
    `
Exit codes: 0 done, 1 it could not be done, or something is wrong, 2 wrong usage. Each command's --help has its own.

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
// Whoever reads the output, such as `head`, has seen enough.
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

/** Sub-commands do not inherit it. */
function throwInsteadOfExiting(command: Command): void {
  command.exitOverride()
  for (const subCommand of command.commands) throwInsteadOfExiting(subCommand)
}

/** What was to be said is said already. A command's own error has its own code; all others are wrong usage. */
function exitCodeOf({ code, exitCode }: CommanderError): number {
  return exitCode === 0 || code === 'commander.error' ? exitCode : 2
}
