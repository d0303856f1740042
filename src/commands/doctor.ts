import { setTimeout as sleep } from 'node:timers/promises'
import { Command } from 'commander'
import { Agent } from 'undici'
import { type Config, ConfigError, loadConfig } from '../config/config.ts'
import { variables } from '../config/variables.ts'
import { counted } from '../core/text/count.ts'
import { loadKeys } from '../http/auth/load-keys.ts'
import { countBrokers, listTopics } from '../kafka/inspect.ts'
import { createPartyClient } from '../party/client.ts'
import { describeServer } from '../postgres/connection/describe-server.ts'
import { openPool } from '../postgres/connection/pool.ts'
import { knownMigrations } from '../postgres/schema/migrate.ts'
import { missingMigrations } from '../postgres/schema/missing-migrations.ts'
import { createLog } from '../telemetry/log.ts'

export const doctorCommand = new Command('doctor')
  .description('check, one by one, all that the service needs, and name the remedy of what is wrong')
  .option('--json', 'print one JSON object instead of text')
  .addHelpText(
    'after',
    '\nIt changes nothing.\nExit codes: 0 all is well, 1 something is wrong, 2 wrong usage.\n\nExample:\n  $ notifications-service doctor --json | jq .checks',
  )
  .action(doctor)

type Env = Readonly<Record<string, string | undefined>>

interface Result {
  readonly name: string
  /** `skipped`: not checked until something else is fixed, or not configured. */
  readonly status: 'ok' | 'failed' | 'skipped'
  readonly detail: string
  readonly remedy: string | null
}

interface Check {
  readonly name: string
  /** What the names of the variables begin with that it goes by: where one of them is wrong, it is skipped. */
  readonly prefix: string
  /** The check without which this one is in vain. */
  readonly after?: string
  /** Resolves to what was found, null where it is not used; rejects with what is wrong. */
  readonly run: (config: Config) => Promise<string | null>
  /** What to do, by the words of the error; the first that matches. */
  readonly remedies: readonly (readonly [RegExp, string])[]
}

/** Longer than a whole look-up of contacts may take, and than the Kafka client takes to give up. */
const CHECK_MAX_MS = 15_000
const log = createLog('silent')
const CLIENT_ID = 'notifications-doctor'
/** Nobody has it: 404 is as good an answer as 200. */
const PARTY_LOCATOR = 'notifications-doctor'

const CHECKS: readonly Check[] = [
  {
    name: 'broker',
    prefix: 'MQ_',
    run: async ({ broker }) => {
      const count = await countBrokers(broker.connection, CLIENT_ID, log)
      return `${counted(count, 'broker')}, ${broker.connection.ssl ? 'TLS' : 'plain text'}`
    },
    remedies: [
      [/authentication|SASL/i, 'check MQ_SASL_MECHANISM, MQ_SASL_USERNAME and MQ_SASL_PASSWORD'],
      [/certificate|self-signed|altnames|issuer/i, 'set MQ_SSL_CA_FILE to the authority of the brokers'],
      [
        /ECONNREFUSED|ENOTFOUND|EAI_AGAIN|ETIMEDOUT|EHOSTUNREACH/,
        'check MQ_BROKERS, and that this machine may reach them',
      ],
      [/./, 'check MQ_SSL: plain text is hung up on by a listener with TLS, and TLS by one without'],
    ],
  },
  {
    name: 'topics',
    prefix: 'MQ_',
    after: 'broker',
    run: async ({ broker }) => {
      const existing = await listTopics(broker.connection, CLIENT_ID, log)
      const missing = broker.topics.filter((topic) => !existing.includes(topic))
      if (missing.length > 0) throw new Error(`not there, or not to be seen: ${missing.join(', ')}`)
      return broker.topics.join(', ')
    },
    remedies: [[/./, 'create them, let this user read them, or correct MQ_TOPICS']],
  },
  {
    name: 'database',
    prefix: 'DATABASE_',
    run: (config) =>
      withPool(config, async (pool) => {
        const { version, tls } = await describeServer(pool)
        return `PostgreSQL ${version}, ${tls ? 'TLS' : 'plain text'}`
      }),
    remedies: [
      [
        /no encryption|SSL off|does not support SSL/i,
        'add sslmode to DATABASE_URL, or take it out: see the README',
      ],
      [
        /certificate|self-signed|altnames|issuer/i,
        'set sslrootcert in DATABASE_URL to the authority of the server',
      ],
      [/password|authentication|role .* does not exist/i, 'check user and password in DATABASE_URL'],
      [/database .* does not exist/i, 'create the database, or correct its name in DATABASE_URL'],
      [
        /too many|remaining connection slots/i,
        'lower DATABASE_POOL_MAX, or raise max_connections of the server',
      ],
      [/./, 'check host and port in DATABASE_URL, and that this machine may reach them'],
    ],
  },
  {
    name: 'schema',
    prefix: 'DATABASE_',
    after: 'database',
    run: (config) =>
      withPool(config, async (pool) => {
        const migrations = await knownMigrations()
        const missing = await missingMigrations(pool, migrations)
        if (missing !== null) throw new Error(missing)
        return `${migrations.length} migrations are applied`
      }),
    remedies: [
      [/permission denied/i, 'grant the user of DATABASE_URL its rights on the schema notifications'],
      [/./, 'run the command `migrate` with the same DATABASE_URL'],
    ],
  },
  {
    name: 'policy administration',
    prefix: 'POLICY_ADMIN_',
    run: async ({ policyAdministration: { url, deadlineMs } }) => {
      const parties = createPartyClient({
        baseUrl: url,
        connectionCountMax: 1,
        pipeliningMax: 1,
        deadlineMs,
        log,
      })
      try {
        const contact = (await parties.lookUp([PARTY_LOCATOR])).get(PARTY_LOCATOR)
        if (contact?.state === 'unresolved') throw new Error(contact.error)
        return 'it answers'
      } finally {
        await parties.close()
      }
    },
    remedies: [[/./, 'check POLICY_ADMIN_URL, with its path, and whether that service is up']],
  },
  {
    name: 'identity provider',
    prefix: 'IDP_',
    run: async ({ tokens }) => {
      if (tokens === null) return null
      const keys = await loadKeys(tokens.keySetUrl, new Agent())
      return `${counted(keys.length, 'key')} for signatures`
    },
    remedies: [[/./, 'check IDP_JWKS_URI: it must answer 200 with a JSON Web Key Set, without redirects']],
  },
]

async function doctor({ json = false }: { json?: boolean }): Promise<void> {
  const results: Result[] = []
  for await (const result of diagnose(process.env)) {
    results.push(result)
    if (!json) process.stdout.write(textOf(result))
  }
  const ok = results.every(({ status }) => status !== 'failed')
  const summary = json
    ? `${JSON.stringify({ ok, checks: results }, null, 2)}\n`
    : `${ok ? 'Nothing is wrong.' : 'Not everything is well.'}\n`
  // What ran out of time may still hold connections: it is not waited for.
  process.stdout.write(summary, () => process.exit(ok ? 0 : 1))
}

async function* diagnose(env: Env): AsyncGenerator<Result> {
  const { config, result, faulty } = configurationOf(env)
  yield result
  const failed = new Set<string>()
  for (const check of CHECKS) {
    const { name, prefix, after } = check
    if (faulty.some((variable) => variable.startsWith(prefix))) {
      yield { name, status: 'skipped', detail: `until the ${prefix}… variables are correct`, remedy: null }
    } else if (after !== undefined && failed.has(after)) {
      yield { name, status: 'skipped', detail: `until the ${after} can be used`, remedy: null }
    } else {
      const checked = await resultOf(check, config)
      if (checked.status === 'failed') failed.add(name)
      yield checked
    }
  }
}

/** The configuration; where some of it is wrong, all variables of that group are left out, so that the rest can go on. */
function configurationOf(env: Env): { config: Config; result: Result; faulty: readonly string[] } {
  const name = 'configuration'
  try {
    const config = loadConfig(env)
    const detail = ['it can be used', ...config.warnings].join('; ')
    return { config, faulty: [], result: { name, status: 'ok', detail, remedy: null } }
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    const groups = error.variables.map((variable) => `${variable.split('_')[0]}_`)
    const kept = Object.entries(env).filter(
      ([variable]) => !groups.some((group) => variable.startsWith(group)),
    )
    const others = Object.fromEntries(kept.filter(([variable]) => !error.variables.includes(variable)))
    const result: Result = {
      name,
      status: 'failed',
      detail: error.message,
      remedy: 'correct these variables',
    }
    return { config: loadConfig({ ...required(), ...others }), result, faulty: error.variables }
  }
}

function required(): Env {
  const names = ['DATABASE_URL', 'MQ_BROKERS', 'POLICY_ADMIN_URL'] as const
  return Object.fromEntries(names.map((name) => [name, String(variables.shape[name].meta()?.example)]))
}

async function resultOf({ name, run, remedies }: Check, config: Config): Promise<Result> {
  const finished = new AbortController()
  try {
    const late = sleep(CHECK_MAX_MS, undefined, { signal: finished.signal }).then(() => {
      throw new Error(`no answer within ${CHECK_MAX_MS / 1_000} s`)
    })
    const detail = await Promise.race([run(config), late])
    if (detail === null) return { name, status: 'skipped', detail: 'not configured', remedy: null }
    return { name, status: 'ok', detail, remedy: null }
  } catch (error) {
    const detail = wordsOf(error)
    const remedy = remedies.find(([words]) => words.test(detail))?.[1] ?? null
    return { name, status: 'failed', detail, remedy }
  } finally {
    finished.abort()
  }
}

/** The message of an error and of what caused it, each once. */
function wordsOf(error: unknown): string {
  const words: string[] = []
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    const inner = cause instanceof AggregateError ? cause.errors.map(String) : []
    for (const word of [cause.message, ...inner]) {
      if (word !== '' && !words.some((known) => known.includes(word))) words.push(word)
    }
  }
  return words.join(': ') || String(error)
}

function textOf({ name, status, detail, remedy }: Result): string {
  const indent = ' '.repeat(33)
  const lines = [detail.replaceAll('\n', `\n${indent}`), ...(remedy === null ? [] : [`${indent}→ ${remedy}`])]
  return `${status.padEnd(9)}${name.padEnd(24)}${lines.join('\n')}\n`
}

async function withPool<T>(
  { database }: Config,
  use: (pool: Awaited<ReturnType<typeof openPool>>) => Promise<T>,
): Promise<T> {
  const pool = await openPool({ databaseUrl: database.url, connectionCountMax: 1 })
  try {
    return await use(pool)
  } finally {
    await pool.end()
  }
}
