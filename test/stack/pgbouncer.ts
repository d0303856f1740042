import { spawnSync } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { onServer } from './databases.ts'
import { freePort } from './free-port.ts'
import { keep } from './keep.ts'

export interface Pooler {
  /** The same database through the pooler. */
  through(databaseUrl: string): string
  close(): Promise<void>
}

/** Debian's package does not put it on everybody's PATH. */
const FILE = ['pgbouncer', '/usr/sbin/pgbouncer'].find((file) => spawnSync(file, ['--version']).status === 0)
/** Why tests that need it are skipped; false where it is installed. */
export const NO_PGBOUNCER = FILE === undefined && 'pgbouncer is not installed'

const START_TIMEOUT_MS = 60_000

/** Starts a real PgBouncer before the server of a URL. `settings` are added to its section `pgbouncer`. */
export async function startPgBouncer(serverUrl: string, settings: Record<string, string>): Promise<Pooler> {
  const { hostname, port: serverPort, username } = new URL(serverUrl)
  const port = await freePort()
  const keeper = await keep({ name: 'pgbouncer', stopSignal: 'SIGINT', abandonSignal: 'SIGTERM' })
  const through = (databaseUrl: string) => {
    const url = new URL(databaseUrl)
    url.host = `127.0.0.1:${port}`
    return url.href
  }
  const users = join(keeper.dir, 'users')
  const all = {
    listen_addr: '127.0.0.1',
    listen_port: String(port),
    unix_socket_dir: '',
    auth_type: 'trust',
    auth_file: users,
    ...settings,
  }
  const lines = Object.entries(all).map(([name, value]) => `${name} = ${value}`)
  const file = join(keeper.dir, 'pgbouncer.ini')
  await writeFile(users, `"${username}" ""\n`)
  await writeFile(
    file,
    `[databases]\n* = host=${hostname} port=${serverPort}\n[pgbouncer]\n${lines.join('\n')}\n`,
  )
  const command = { file: String(FILE), args: [...(process.getuid?.() === 0 ? ['-u', 'nobody'] : []), file] }
  const answers = () => onServer(through(serverUrl), async () => true)
  try {
    await keeper.start(command, answers, START_TIMEOUT_MS)
  } catch (error) {
    await keeper.close()
    throw error
  }
  return { through, close: () => keeper.close() }
}
