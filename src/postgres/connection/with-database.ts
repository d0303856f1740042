import { CorrectableError } from '../../core/text/faults.ts'
import { databaseMessage, lacksSchema } from './errors.ts'
import { type DatabasePool, openPool } from './pool.ts'

/** The database cannot be used; the message says how to fix it. */
export class UnusableDatabaseError extends CorrectableError {}

/**
 * Lets a command use a database, by one connection unless it works side by side, and closes it. Throws UnusableDatabaseError where it cannot be
 * reached or is not migrated.
 */
export async function withDatabase(
  databaseUrl: string,
  use: (pool: DatabasePool) => Promise<void>,
  connectionCountMax = 1,
): Promise<void> {
  const pool = await open(databaseUrl, connectionCountMax)
  try {
    await use(pool)
  } catch (error) {
    if (!(error instanceof Error && lacksSchema(error))) throw error
    throw new UnusableDatabaseError(
      `the schema does not match this version (${databaseMessage(error)}): run the command \`migrate\``,
      { cause: error },
    )
  } finally {
    await pool.end()
  }
}

async function open(databaseUrl: string, connectionCountMax: number): Promise<DatabasePool> {
  try {
    return await openPool({ databaseUrl, connectionCountMax })
  } catch (error) {
    if (!(error instanceof Error)) throw error
    throw new UnusableDatabaseError(
      `the database of DATABASE_URL cannot be used (${databaseMessage(error)}): run the command \`doctor\` to find out why`,
      { cause: error },
    )
  }
}
