import { loadDatabaseUrl } from '../../service/config/config.ts'
import { databaseMessage, lacksRight } from '../../service/store/connection/errors.ts'
import { createLog } from '../../service/telemetry/log.ts'
import { CorrectableError } from '../../service/text/faults.ts'
import { newCommand } from '../../terminal/options.ts'
import type { World } from '../../terminal/world.ts'
import { migrate } from './apply-migrations.ts'

export const migrateCommand = (world: World) =>
  newCommand('migrate', {
    exitCodes: '0 the schema is up to date, 1 the migration failed',
    example: 'migrate',
  })
    .description('bring the database schema up to date')
    .action(() => runMigrations(world))

async function runMigrations(world: World): Promise<void> {
  const log = createLog('info')
  const names = await migrate(loadDatabaseUrl(world.env), log).catch((cause: unknown) => {
    if (!(cause instanceof Error)) throw cause
    if (cause instanceof CorrectableError) throw cause
    const remedy = lacksRight(cause)
      ? 'connect as the owner of the schema; if there is no schema yet, have the owner of the database run CREATE SCHEMA notifications AUTHORIZATION and the name of that role'
      : 'run the command `doctor` to check the database'
    throw new CorrectableError(`the schema was not migrated (${databaseMessage(cause)}): ${remedy}`, {
      cause,
    })
  })
  log.info({ migrations: names }, names.length === 0 ? 'the schema is up to date' : 'the schema was migrated')
}
