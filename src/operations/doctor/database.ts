import type { Config } from '../../service/config/config.ts'
import { describeHold } from '../../service/model/request/hold.ts'
import { classifyError } from '../../service/store/connection/errors.ts'
import { type DatabasePool, openPool } from '../../service/store/connection/pool.ts'
import { countFailedEntries } from '../../service/store/read/count-failed-entries.ts'
import { ALL_REJECTED, countRejectedMessages } from '../../service/store/read/list-rejected-messages.ts'
import { readHolds } from '../../service/store/read/read-holds.ts'
import {
  encodingFault,
  findLackOfUsefulRights,
  findReadinessFault,
  findSchemaChanges,
} from '../../service/store/schema/find-readiness-fault.ts'
import { judgeRole, ROLE_REMEDY } from '../../service/store/schema/judge-role.ts'
import { COMPARE_ALL, partFault, readMigrations } from '../../service/store/schema/migration.ts'
import { counted } from '../../service/text/count.ts'
import { countUnfinishedErasures } from '../erase/erasure-record.ts'
import { compareSchema } from '../migrate/compare-schema.ts'
import { describeServer } from './describe-server.ts'
import { type Check, certificateRemedies, Problem, type Warning } from './remedies.ts'

const DATABASE_LOG_IN =
  'check the user in DATABASE_URL, and the password there or in the file of DATABASE_PASSWORD_FILE'
const PRIMARY = 'point DATABASE_URL at the primary, or list all hosts'
const RIGHTS =
  "name the service's role in DATABASE_URL, or run db/grants.sql as the owner of the schema: see src/deploy/README.md"

const LARGE_PACKETS =
  'the path to the server (a VPN, tunnel or firewall) swallows large packets: lower the MTU of the network interface here, or let ICMP messages of the kind "fragmentation needed" through'
const AGAIN = 'run the command `doctor` again'
const WITHOUT_OPTIONAL_SETTINGS =
  'none needed: the service works without it, but abandoned queries run to their end'

export const databaseCheck: Check = {
  name: 'database',
  prefix: 'DATABASE_',
  run: async ({ database }) => {
    const server = await describeServer(database.url)
    const { version, encoding, tls, isPooled, isReadOnly, isStandby, isWide, refused, lossy } = server
    if (!isWide) throw new Problem('small statements are answered, and large ones are not', LARGE_PACKETS)
    const fault = encodingFault(encoding)
    if (fault !== null) throw new Problem(fault.problem, fault.remedy)
    if (isReadOnly && isStandby) throw new Problem(`PostgreSQL ${version} is read-only: a standby`, PRIMARY)
    if (isReadOnly)
      throw new Problem(
        `PostgreSQL ${version} is read-only: by the setting default_transaction_read_only`,
        'set default_transaction_read_only of the server, the database or the user to off, or point DATABASE_URL at another server',
      )
    const words = `PostgreSQL ${version}, ${tls ? 'TLS' : 'plain text'}${isPooled ? ', through a pooler' : ''}`
    if (lossy.length > 0)
      return {
        warning: `${words}, with ${lossy.join(' and ')} off: a crash of the server loses opt-outs that were acknowledged, and messages are sent twice`,
        remedy: `set ${lossy.join(' and ')} of the server, the database or the user to on`,
      }
    return refused.length === 0
      ? words
      : { warning: `${words}, refuses ${refused.join(', ')}`, remedy: WITHOUT_OPTIONAL_SETTINGS }
  },
  readCode: classifyError,
  remedies: {
    SETTINGS_REFUSED:
      'use PostgreSQL 14 or later, or have the proxy pass SET LOCAL on: see src/deploy/README.md',
    SETTINGS_LOST: 'set pool_mode of the pooler to transaction or session: see src/deploy/README.md',
    NO_ENCRYPTION: 'add sslmode to DATABASE_URL, or remove it: see src/deploy/README.md',
    ...certificateRemedies(
      'renew the certificate of the server',
      'name the host in DATABASE_URL as its certificate does',
      'set sslrootcert in DATABASE_URL to the authority of the server',
    ),
    '42501': 'as the owner of the database, GRANT CONNECT on it to this user',
    NOT_IN_PG_HBA: "allow this user and this machine in the server's pg_hba.conf, or correct DATABASE_URL",
    POOLER_CANNOT_LOG_IN: "check the pooler's log: it cannot log in to the server",
    '28000': DATABASE_LOG_IN,
    '28P01': DATABASE_LOG_IN,
    SECRET_FILE: DATABASE_LOG_IN,
    '3D000': 'create the database, or correct its name in DATABASE_URL',
    READ_ONLY: PRIMARY,
    '53300': 'lower DATABASE_POOL_MAX, or raise max_connections of the server',
    other: 'check host and port in DATABASE_URL, and that this machine can reach them',
  },
}

export const schemaCheck: Check = {
  name: 'schema',
  prefix: 'DATABASE_',
  after: ['database'],
  run: (config) =>
    withPool(config, async (pool) => {
      const migrations = await readMigrations()
      const fault = await findReadinessFault(pool, migrations)
      if (fault !== null) throw new Problem(fault.problem, fault.remedy)
      const lack =
        partFault(await findSchemaChanges(pool, migrations)) ?? (await findLackOfUsefulRights(pool))
      if (lack !== null) return { warning: lack.problem, remedy: lack.remedy }
      const words = `${counted(migrations.length, 'migration')} applied, all that this version has`
      const differences = await compareSchema(config.database.url, migrations)
      if (differences === null) return `${words}; \`migrate\` compares their definitions`
      const [first, ...rest] = differences
      if (first === undefined) return words
      const more = rest.length === 0 ? '' : `, and ${rest.length} more`
      return { warning: `the schema was changed by hand: it lacks ${first}${more}`, remedy: COMPARE_ALL }
    }),
  // A faulty schema has its own remedy.
  remedies: { '42501': RIGHTS, other: AGAIN },
}

export const roleCheck: Check = {
  name: 'role',
  prefix: 'DATABASE_',
  after: ['schema'],
  run: (config) =>
    withPool(config, async (pool) => {
      const warning = await judgeRole(pool)
      return warning === null ? 'it has only what it was granted' : { warning, remedy: ROLE_REMEDY }
    }),
  remedies: { other: AGAIN },
}

export const logCheck: Check = {
  name: 'log',
  prefix: 'RETRY_',
  after: ['schema'],
  run: (config) => withPool(config, (pool) => describeLog(config, pool)),
  remedies: { other: AGAIN },
}

export const holdCheck: Check = {
  name: 'hold',
  prefix: 'DATABASE_',
  after: ['schema'],
  run: (config) =>
    withPool(config, async (pool) => {
      const holds = await readHolds(pool)
      if (holds.length === 0) return 'no messages are held'
      const what = holds.map((hold) => `${hold.topics?.join(', ') ?? 'all topics'} ${describeHold(hold)}`)
      return {
        warning: `messages are held: ${what.join('; ')}`,
        remedy: 'once the cause is fixed, run `resume`',
      }
    }),
  remedies: { other: AGAIN },
}

export const eventIdsCheck: Check = {
  name: 'event ids',
  prefix: 'DATABASE_',
  after: ['schema'],
  run: (config) => withPool(config, findConflicts),
  remedies: { other: AGAIN },
}

/** Messages that need an operator; erased ones cannot be processed again. */
const UNSETTLED = { ...ALL_REJECTED, open: true, kept: true }

/** Entries that need an operator, and where to read about them. */
async function describeLog({ retry }: Config, pool: DatabasePool): Promise<string | Warning> {
  const [{ waiting, givenUp }, rejected, unfinishedCount] = await Promise.all([
    countFailedEntries(pool, retry),
    countRejectedMessages(pool, UNSETTLED),
    countUnfinishedErasures(pool),
  ])
  const words = [
    `${counted(waiting, 'entry', 'entries')} FAILED and waiting for a retry`,
    `${givenUp} given up (\`log --not-told\`)`,
    `${rejected.isAll ? '' : 'at least '}${counted(rejected.count, 'rejected message')} not settled (\`rejected list\`)`,
  ].join(', ')
  if (unfinishedCount === 0) return words
  return {
    warning: `${words}, ${counted(unfinishedCount, 'erasure')} interrupted or under way`,
    remedy: 'run `erase` again for the parties in the table erasure whose finished_at is null',
  }
}

async function findConflicts(pool: DatabasePool): Promise<string> {
  const { count, isAll } = await countRejectedMessages(pool, { ...UNSETTLED, code: 'conflict' })
  if (count === 0) return `no ${isAll ? '' : 'new '}message has the event id of another one`
  throw new Problem(
    `${isAll ? '' : 'at least '}${counted(count, 'message')} not settled with the event id of another one: their members are not told`,
    'correct "eventId" in rules/envelope.json or have the producer give each event its own id, then `rejected redrive --code conflict`; if they are meant, `rejected dismiss`',
  )
}

export async function withPool<T>({ database }: Config, use: (pool: DatabasePool) => Promise<T>): Promise<T> {
  const pool = await openPool({ databaseUrl: database.url, connectionCountMax: 1 })
  try {
    return await use(pool)
  } finally {
    await pool.end()
  }
}
