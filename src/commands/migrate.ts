import { Command } from 'commander'
import { loadDatabaseUrl } from '../config/config.ts'
import { CorrectableError } from '../core/text/faults.ts'
import { databaseMessage } from '../postgres/connection/errors.ts'
import { migrate } from '../postgres/schema/migrate.ts'
import { createLog } from '../telemetry/log.ts'
import { helpEnd } from './terminal/options.ts'

export const migrateCommand = new Command('migrate')
  .description('bring the database schema up to date')
  .addHelpText('after', helpEnd('0 the schema is up to date, 1 the migration failed', 'migrate'))
  .action(runMigrations)

async function runMigrations(): Promise<void> {
  const log = createLog('info')
  const names = await migrate(loadDatabaseUrl(process.env), log).catch((cause: unknown) => {
    if (!(cause instanceof Error)) throw cause
    if (cause instanceof CorrectableError) throw cause
    throw new CorrectableError(
      `the schema was not migrated (${databaseMessage(cause)}): run the command \`doctor\` to check the database`,
      { cause },
    )
  })
  log.info({ migrations: names }, names.length === 0 ? 'the schema is up to date' : 'the schema was migrated')
}
