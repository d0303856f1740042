import { readFile } from 'node:fs/promises'
import pg from 'pg'
import { type ConnectionOptions, parse } from 'pg-connection-string'
import { databaseUrls } from '../../text/database-urls.ts'
import { CodedError } from '../../text/error-codes.ts'
import { errorMessage } from '../../text/faults.ts'
import { classifyError, sqlState } from './errors.ts'

/** Names and values in the spelling of PostgreSQL's SHOW. */
export type Settings = Readonly<Record<string, string>>

export interface Session {
  readonly client: pg.Client
  /**
   * Opens a transaction with the settings: consecutive statements may run on different server connections, and session settings get
   * lost. Null if the session has the settings.
   */
  readonly transactionStart: string | null
  readonly isReadOnly: boolean
  /** Names of optional settings that the server did not apply. */
  readonly refused: readonly string[]
}

export interface ConnectOptions {
  readonly databaseUrl: string
  /** Settings for all statements. */
  readonly settings: Settings
  /** Used as far as the server or pooler accepts them. */
  readonly optionalSettings?: Settings
  /** Used unless DATABASE_URL names one. */
  readonly applicationName: string
  readonly clientOptions?: pg.ClientConfig
}

const CONNECT_MS_MAX = 5_000

/**
 * Opens a transaction with these settings, whatever the session's are, in one round trip. Not by a query: the isolation level could
 * no longer be changed after it.
 */
export function startTransaction(settings: Settings): string {
  const assignments = Object.entries(settings).map(([name, value]) => {
    const isList = value.includes(',')
    return `SET LOCAL ${name} = ${isList ? value : `'${value}'`}`
  })
  return ['START TRANSACTION ISOLATION LEVEL READ COMMITTED', ...assignments].join('; ')
}

/**
 * Returns a function that connects to the database, or to the first of several hosts that accepts writes, and applies the settings
 * to the session. If they do not hold, there is a pooler, and each transaction sets them. Rejects if that fails.
 */
export function createConnector(options: ConnectOptions): () => Promise<Session> {
  const urls = databaseUrls(options.databaseUrl)
  /** Settings to send at start-up; after a refusal, the next ones are tried. */
  const startUps: readonly Settings[] = [
    ...(options.optionalSettings === undefined ? [] : [{ ...options.settings, ...options.optionalSettings }]),
    options.settings,
    {},
  ]
  const refusedCounts = new Map<string, number>()

  async function logIn(url: string): Promise<pg.Client> {
    for (let count = refusedCounts.get(url) ?? 0; ; count++) {
      try {
        const client = await open(url, options, startUps[count] ?? {})
        refusedCounts.set(url, count)
        return client
      } catch (error) {
        if (count >= startUps.length - 1 || !mayRefuseSettings(error)) throw error
      }
    }
  }

  async function connectTo(url: string): Promise<Session> {
    const client = await logIn(url)
    try {
      return await createSession(client, options)
    } catch (error) {
      await client.end().catch(() => {})
      throw error
    }
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

async function open(url: string, options: ConnectOptions, startUp: Settings): Promise<pg.Client> {
  const client = new pg.Client(await clientConfig(url, options, startUp))
  // The error reaches the query that waits for an answer.
  client.on('error', () => {})
  try {
    await client.connect()
    return client
  } catch (error) {
    await client.end().catch(() => {})
    throw error
  }
}

/**
 * True if an error during start-up may be about a setting, whatever its code: a server or proxy sent it, and it is not about the
 * user, the database, resources or shutdown.
 */
function mayRefuseSettings(error: unknown): boolean {
  const state = sqlState(error)
  return state !== undefined && !/^(28|3D|53|57)/.test(state)
}

async function clientConfig(
  databaseUrl: string,
  { applicationName, clientOptions }: ConnectOptions,
  startUp: Settings,
): Promise<pg.ClientConfig> {
  const { host, port, user, password, ssl, options, application_name, passwordfile } = parseUrl(databaseUrl)
  const ours = Object.entries(startUp).map(([name, value]) => `-c ${name}=${value.replaceAll(' ', '\\ ')}`)
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

/** A pooler gave the transaction other settings than it was opened with. */
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
  /** Null: the server does not know the setting. */
  readonly settings: (string | null)[]
}

async function readState(client: pg.Client, wanted: Settings) {
  const names = Object.keys(wanted).map((name) => `current_setting('${name}', true)`)
  const { rows } = await client.query<State>(`
    SELECT pg_backend_pid() AS pid, current_setting('transaction_read_only') AS read_only,
      ARRAY[${names.join(', ')}]::text[] AS settings`)
  const found = rows[0] as State
  return { ...found, lacked: Object.entries(wanted).filter(([, value], i) => found.settings[i] !== value) }
}

async function createSession(
  client: pg.Client,
  { settings, optionalSettings = {} }: ConnectOptions,
): Promise<Session> {
  const wanted = { ...settings, ...optionalSettings }
  const { pid, read_only, lacked } = await readState(client, wanted)
  const isReadOnly = read_only === 'on'
  // A pooler invents the process id that clients use to cancel statements.
  const { processID } = client as unknown as { readonly processID: number }
  const lackedNames = lacked.map(([name]) => name)
  if (pid === processID && lackedNames.every((name) => Object.hasOwn(optionalSettings, name)))
    return { client, transactionStart: null, isReadOnly, refused: lackedNames }
  const pooled = (held: Settings, refused: readonly string[]): Session => {
    return { client, transactionStart: startTransaction(held), isReadOnly, refused }
  }
  const refusal = await findSettingsFault(client, wanted)
  if (refusal === null) return pooled(wanted, [])
  if (!isOfPooler(refusal) && (await findSettingsFault(client, settings)) === null)
    return pooled(settings, Object.keys(optionalSettings))
  throw toCoded(refusal)
}

/** The error if the settings do not hold in a transaction, or null. Rejects if the server is gone or too busy. */
async function findSettingsFault(client: pg.Client, settings: Settings): Promise<unknown> {
  try {
    await client.query(startTransaction(settings))
    const { lacked } = await readState(client, settings)
    return lacked.length === 0
      ? null
      : new LackedSettings(lacked.map(([name, value]) => `${name}=${value}`).join(', '))
  } catch (error) {
    if (!isRefusal(error)) throw error
    return error
  } finally {
    await client.query('ROLLBACK').catch(() => {})
  }
}

/** True if a pooler passes statements to different servers; PgBouncer then also closes the connection. */
function isOfPooler(refusal: unknown): boolean {
  return refusal instanceof LackedSettings || sqlState(refusal) === '08P01'
}

function toCoded(refusal: unknown): CodedError {
  return isOfPooler(refusal)
    ? new CodedError(
        'SETTINGS_LOST',
        `settings do not hold in transactions: ${errorMessage(refusal)}; set pool_mode of the pooler to transaction or session`,
        { cause: refusal },
      )
    : new CodedError('SETTINGS_REFUSED', `the server refuses a required setting: ${errorMessage(refusal)}`, {
        cause: refusal,
      })
}
