import { access, mkdir, constants as modes } from 'node:fs/promises'
import { constants } from 'node:os'
import pg from 'pg'

/** A whole number from the environment. Throws where it is none, or below `min`. */
export function numberFrom(name: string, byDefault: number, min = 1): number {
  const text = process.env[name] || String(byDefault)
  if (!/^\d{1,9}$/.test(text) || Number(text) < min)
    throw new Error(`${name} must be a whole number from ${min} on, not ${JSON.stringify(text)}`)
  return Number(text)
}

/** Rejects if what runs here cannot keep its files in this folder. */
export async function requireWritable(folder: string): Promise<void> {
  try {
    await mkdir(folder, { recursive: true })
    await access(folder, modes.W_OK)
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    throw new Error(
      `${folder} cannot be written (${code}): work in a checkout that belongs to you, not a read-only one`,
    )
  }
}

/** Rejects if the user of DATABASE_URL cannot make the databases of the tests. */
export async function requireCreateDb(url: string): Promise<void> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  const { rows } = await client.query(
    'SELECT rolname, rolcreatedb OR rolsuper AS may FROM pg_roles WHERE rolname = current_user',
  )
  await client.end()
  if (!rows[0].may)
    throw new Error(
      `the user ${rows[0].rolname} of DATABASE_URL may not create databases: ALTER ROLE ${rows[0].rolname} CREATEDB, or unset DATABASE_URL and a server is started for you`,
    )
}

/** The brokers of the stack that runs. */
export function brokersFromEnvironment(): string {
  const brokers = process.env.MQ_BROKERS
  if (!brokers)
    throw new Error('MQ_BROKERS is not set: run this by make, or under test/stack/with-stack.ts -- <command>')
  return brokers
}

/** Ctrl-C ends what was started too, by exit handlers. Also silences a warning that kafkajs causes by a negative time-out. */
export function endWithSignals(): void {
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.once(signal, () => process.exit(128 + constants.signals[signal]))
  }
  process.removeAllListeners('warning')
}
