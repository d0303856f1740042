import { readFile } from 'node:fs/promises'
import pg from 'pg'
import { type ConnectionOptions, parse } from 'pg-connection-string'
import { databaseUrls } from '../../core/text/database-urls.ts'
import { CodedError } from '../../core/text/error-codes.ts'
import { errorMessage } from '../../core/text/faults.ts'
import { classifyError, sqlState } from './errors.ts'

/** Names and values in the spelling of PostgreSQL's SHOW. */
export type Settings = Readonly<Record<string, string>>

export interface Session {
  readonly client: pg.Client
  /** Consecutive statements may run on different server connections, and session settings get lost. */
  readonly isPooled: boolean
  readonly isReadOnly: boolean
}

export interface ConnectOptions {
  readonly databaseUrl: string
  /** Settings for all statements. */
  readonly settings: Settings
  /** Used unless DATABASE_URL names one. */
  readonly applicationName: string
  readonly clientOptions?: pg.ClientConfig
}

const CONNECT_MS_MAX = 5_000

/**
 * Opens a transaction with these settings, whatever the session has, in one round trip. Not by a query: after one the isolation
 * level could no longer be changed.
 */
export function startTransaction(settings: Settings): string {
  const each = Object.entries(settings).map(([name, value]) => {
    const isList = value.includes(',')
    return `SET LOCAL ${name} = ${isList ? value : `'${value}'`}`
  })
  return ['START TRANSACTION ISOLATION LEVEL READ COMMITTED', ...each].join('; ')
}

/**
 * Returns a function that connects to the database, or to the first of several hosts that accepts writes, and sets the settings
 * for the session. If they do not hold, a pooler is in between, and each transaction sets them. Rejects if that fails.
 */
export function createConnector(options: ConnectOptions): () => Promise<Session> {
  const urls = databaseUrls(options.databaseUrl)
  /** Settings that a pooler such as PgBouncer refuses unless told to ignore them. */
  const refusing = new Set<string>()

  async function connectTo(url: string): Promise<Session> {
    if (!refusing.has(url)) {
      try {
        return await open(url, options, true)
      } catch (error) {
        if (classifyError(error) !== 'UNSUPPORTED_SETTINGS') throw error
        refusing.add(url)
      }
    }
    return open(url, options, false)
  }

  return async () => {
    const [only] = urls
    if (only !== undefined && urls.length === 1) return connectTo(only)
    const faults: string[] = []
    const errors: unknown[] = []
    for (const url of urls) {
      const { host } = new URL(url)
      try {
        const session = await connectTo(url)
        if (!session.isReadOnly) return session
        await session.client.end()
        faults.push(`${host} is read-only`)
        errors.push(new CodedError('READ_ONLY', `${host} is read-only`))
      } catch (error) {
        faults.push(`${host}: ${errorMessage(error)}`)
        errors.push(error)
      }
    }
    const message = `no host of DATABASE_URL accepts writes (${faults.join('; ')})`
    throw new Error(message, { cause: new AggregateError(errors) })
  }
}

async function open(url: string, options: ConnectOptions, withSettings: boolean): Promise<Session> {
  const client = new pg.Client(await clientConfig(url, options, withSettings))
  // The error reaches the query that waits for an answer.
  client.on('error', () => {})
  try {
    await client.connect()
    return await createSession(client, options.settings)
  } catch (error) {
    await client.end().catch(() => {})
    throw error
  }
}

async function clientConfig(
  databaseUrl: string,
  { settings, applicationName, clientOptions }: ConnectOptions,
  withSettings: boolean,
): Promise<pg.ClientConfig> {
  const { host, port, user, password, ssl, options, application_name, passwordfile } = parseUrl(databaseUrl)
  const ours = withSettings
    ? Object.entries(settings).map(([name, value]) => `-c ${name}=${value.replaceAll(' ', '\\ ')}`)
    : []
  const startOptions = [options ?? [], ours].flat().join(' ')
  const secret = typeof passwordfile === 'string' ? await passwordIn(passwordfile) : password
  // The library does not decode %2F and the like.
  const database = decodeURIComponent(new URL(databaseUrl).pathname.slice(1))
  return {
    ...clientOptions,
    ...(host && { host }),
    ...(port && { port: Number(port) }),
    ...(user && { user }),
    ...(secret && { password: secret }),
    ...(database && { database }),
    ...(startOptions && { options: startOptions }),
    application_name: application_name ?? applicationName,
    connectionTimeoutMillis: CONNECT_MS_MAX,
    ssl: ssl as pg.ClientConfig['ssl'],
  }
}

/**
 * Reads a database URL as libpq does, certificates included, with two differences: without `sslmode` there is no TLS, and
 * `verify-ca` without `sslrootcert` trusts Node's authorities, where the library throws.
 */
function parseUrl(databaseUrl: string): ConnectionOptions {
  const url = new URL(databaseUrl)
  const { searchParams } = url
  const mode = searchParams.get('sslmode')
  const isVerifiedByNode = mode === 'verify-ca' && !searchParams.has('sslrootcert')
  if (isVerifiedByNode) searchParams.set('sslmode', 'verify-full')
  const found = parse(url.href, { useLibpqCompat: true })
  if (mode === null) return { ...found, ssl: false }
  return isVerifiedByNode
    ? { ...found, ssl: { ...(found.ssl as object), checkServerIdentity: () => undefined } as object }
    : found
}

/** Read for each connection, so that a new password needs no restart. */
async function passwordIn(path: string): Promise<string> {
  const password = (await readFile(path, 'utf8')).replace(/\r?\n$/, '')
  if (password === '')
    throw new CodedError('SECRET_FILE', `DATABASE_PASSWORD_FILE is empty: write the password into ${path}`)
  return password
}

class LackedSettings extends Error {}

/**
 * True if a pooler that passes each statement to another server connection (08P01), or a server that does not know a setting,
 * refused it.
 */
function isRefusal(error: unknown): boolean {
  const state = sqlState(error) ?? ''
  if (state === '08P01') return classifyError(error) === 'STATEMENT_POOLING'
  return state !== '' && !/^(08|53|57)/.test(state)
}

interface State {
  readonly pid: number
  readonly read_only: string
  readonly settings: string[]
}

async function createSession(client: pg.Client, settings: Settings): Promise<Session> {
  const wanted = Object.entries(settings)
  const names = wanted.map(([name]) => `current_setting('${name}')`).join(', ')
  const statement = `
    SELECT pg_backend_pid() AS pid, current_setting('transaction_read_only') AS read_only, ARRAY[${names}]::text[] AS settings`
  const state = async () => (await client.query<State>(statement)).rows[0] as State
  const lackedBy = (found: State) => wanted.filter(([, value], i) => found.settings[i] !== value)

  const found = await state()
  const isReadOnly = found.read_only === 'on'
  // A pooler invents the process id with which a client would cancel its statements.
  const { processID } = client as unknown as { readonly processID: number }
  if (found.pid === processID && lackedBy(found).length === 0) {
    return { client, isPooled: false, isReadOnly }
  }
  try {
    await client.query(startTransaction(settings))
    const lacked = lackedBy(await state())
    await client.query('COMMIT')
    if (lacked.length > 0)
      throw new LackedSettings(lacked.map(([name, value]) => `${name}=${value}`).join(', '))
  } catch (cause) {
    // The server is gone, or too busy.
    if (!(cause instanceof LackedSettings) && !isRefusal(cause)) throw cause
    const message = `settings do not hold in transactions: ${errorMessage(cause)}; set pool_mode of the pooler to transaction or session`
    throw new CodedError('SETTINGS_LOST', message, { cause })
  }
  return { client, isPooled: true, isReadOnly }
}
