import { loadDatabaseUrl } from '../service/config/config.ts'
import { databaseMessage, lacksRight, lacksSchema } from '../service/store/connection/errors.ts'
import { type DatabasePool, openPool } from '../service/store/connection/pool.ts'
import { CorrectableError } from '../service/text/faults.ts'
import type { World } from './world.ts'

/**
 * Connects a command to the database, with one connection unless it works in parallel, and disconnects afterwards. Throws
 * CorrectableError if DATABASE_URL is wrong, or if the database cannot be reached, is not migrated or refuses the role a right.
 */
export async function withDatabase(
  world: World,
  use: (pool: DatabasePool) => Promise<void>,
  connectionCountMax = 1,
): Promise<void> {
  const pool = await open(world, connectionCountMax)
  try {
    await use(pool)
  } catch (error) {
    if (!(error instanceof Error)) throw error
    const remedy = lacksSchema(error)
      ? 'the schema does not match this version: run the command `migrate`'
      : lacksRight(error)
        ? 'run this command as a role with the rights of the operator in db/grants.sql'
        : null
    if (remedy === null) throw error
    throw new CorrectableError(`${databaseMessage(error)}: ${remedy}`, { cause: error })
  } finally {
    await pool.end()
  }
}

async function open(world: World, connectionCountMax: number): Promise<DatabasePool> {
  const databaseUrl = loadDatabaseUrl(world.env)
  try {
    return await openPool({ databaseUrl, connectionCountMax })
  } catch (error) {
    if (!(error instanceof Error)) throw error
    throw new CorrectableError(
      `the database of DATABASE_URL cannot be used (${databaseMessage(error)}): run the command \`doctor\` to find out why`,
      { cause: error },
    )
  }
}
