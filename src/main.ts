#!/usr/bin/env node
import { Command } from 'commander'
import { migrateCommand } from './commands/migrate.ts'
import { rulesCommand } from './commands/rules.ts'
import { serveCommand } from './commands/serve.ts'
import { ConfigError } from './config.ts'
import { EnvelopeMapError } from './core/envelope.ts'
import { RuleTableError } from './core/rules/faults.ts'

const program = new Command('notifications-service')
  .description('Turns domain events from Kafka into member messages and writes one log row for each.')
  .showHelpAfterError()
  .addCommand(serveCommand, { isDefault: true })
  .addCommand(migrateCommand)
  .addCommand(rulesCommand)

try {
  await program.parseAsync()
} catch (error) {
  // What people are to correct is said in words; anything else is a fault of ours and shows where.
  const expected = [ConfigError, RuleTableError, EnvelopeMapError].some((kind) => error instanceof kind)
  const { message, stack } = error instanceof Error ? error : new Error(String(error))
  process.stderr.write(`${expected ? message : stack}\n`)
  process.exit(1)
}
