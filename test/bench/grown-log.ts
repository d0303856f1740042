import pg from 'pg'
import { migrate } from '../../src/operations/migrate/apply-migrations.ts'
import { EVENT_TYPES } from '../authoring/templates/specified-event-types.ts'
import { createMigratedDatabase, type Database } from '../stack/databases.ts'
import { insertPreferences, PARTY_COUNT } from './parties.ts'

/** The event ids of a log: random (UUIDv4), or ordered by the times of the rows (UUIDv7). */
export const EVENT_IDS = ['random', 'ordered'] as const
export type EventIds = (typeof EVENT_IDS)[number]

/** The party with the most rows, none of them of the type `PARTY_OF_MOST_LACKS`. */
export const PARTY_OF_MOST = 'party-000007'
export const PARTY_OF_MOST_LACKS = 'adjustment.reversed'

const TABLES = ['notifications.notification_log', 'notifications.decision']
const STEP_COUNT = 250_000
/** One process for each core of a small machine. */
const WORKER_COUNT = 2
/** Rows of one commit share their time. All are too old for the background retry. */
const BATCH_COUNT = 50
const BATCH_INTERVAL_MS = 40_000
const AGE_MIN_MS = 48 * 3_600_000

/**
 * A database whose log holds that many rows, as if dispatch had written them over months, with their decisions. It is
 * filled at the first call and stays on its server: later calls, of later runs too, find it again, with what was
 * written to it since.
 */
export async function grownLog(
  serverUrl: string,
  rowCount: number,
  eventIds: EventIds,
  say: (line: string) => void,
): Promise<Database> {
  const url = new URL(serverUrl)
  const name = `grown_${eventIds}_${rowCount}`
  url.pathname = `/${name}`
  const server = new pg.Client(serverUrl)
  await server.connect()
  const { rowCount: found } = await server.query('SELECT FROM pg_database WHERE datname = $1', [name])
  if (found === 0) {
    const startedMs = performance.now()
    const draft = await createMigratedDatabase(serverUrl)
    await fill(draft.url, rowCount, eventIds)
    // Last, so that an interrupted fill is never treated as complete.
    await server.query(`ALTER DATABASE ${new URL(draft.url).pathname.slice(1)} RENAME TO ${name}`)
    say(`${name}: filled in ${Math.round((performance.now() - startedMs) / 1_000)} s`)
  }
  await server.end()
  await migrate(url.href, { info: () => {} })
  return { url: url.href, drop: async () => {} }
}

/**
 * Brings the server to where it is while a service writes to this log, between two checkpoints: the indexes that grow at
 * random places are in its memory, and by one row in twenty more, most of their pages have been written into the WAL
 * whole. Just after a start or a checkpoint nearly every row would have to fetch such pages, and to write them.
 */
export async function warmUp(url: string, rowCount: number, eventIds: EventIds): Promise<void> {
  const clients = await connectAll(url)
  // So that the next one comes after the measurement.
  await clients[0]?.query('CHECKPOINT')
  const reads = ['event_id', 'party_locator'].map((column) => ({
    text: `SELECT count(*) FROM notifications.notification_log WHERE ${column} > ''`,
  }))
  for (const client of clients) {
    for (const scan of ['seqscan', 'bitmapscan']) await client.query(`SET enable_${scan} = off`)
  }
  await shareOut(clients, reads)
  // These numbers have no rows yet: no run adds so many in a millisecond.
  const firstNumber = Date.now() * 100
  await shareOut(clients, insertsOf(firstNumber, Math.ceil(rowCount / 20), eventIds))
  await Promise.all(clients.map((client) => client.end()))
}

/** Leaves the log as in use: with all indexes, vacuumed, after a checkpoint. */
async function fill(url: string, rowCount: number, eventIds: EventIds): Promise<void> {
  const clients = await connectAll(url)
  const [client] = clients
  if (client === undefined) return
  for (const table of TABLES) await client.query(`ALTER TABLE ${table} SET (autovacuum_enabled = off)`)
  const rebuild = await dropIndexes(client, eventIds)
  await shareOut(clients, insertsOf(1, rowCount, eventIds))
  await shareOut(clients, rebuild)
  await insertPreferences(client)
  await shareOut(
    clients,
    TABLES.map((table) => ({ text: `VACUUM (ANALYZE) ${table}` })),
  )
  for (const table of TABLES) await client.query(`ALTER TABLE ${table} RESET (autovacuum_enabled)`)
  await client.query('CHECKPOINT')
  await Promise.all(clients.map((each) => each.end()))
}

function connectAll(url: string): Promise<pg.Client[]> {
  return Promise.all(
    Array.from({ length: WORKER_COUNT }, async () => {
      const client = new pg.Client(url)
      await client.connect()
      await client.query(`SET synchronous_commit = off`)
      await client.query(`SET maintenance_work_mem = '1GB'`)
      return client
    }),
  )
}

interface Statement {
  readonly text: string
  readonly values?: unknown[]
}

async function shareOut(clients: readonly pg.Client[], statements: readonly Statement[]): Promise<void> {
  const waiting = [...statements]
  await Promise.all(
    clients.map(async (client) => {
      for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) await client.query(next)
    }),
  )
}

/** Inserts this number of rows into the log, each with a decision. */
function insertsOf(firstNumber: number, rowCount: number, eventIds: EventIds): Statement[] {
  const end = firstNumber + rowCount
  const timeOfZeroMs = Date.now() - AGE_MIN_MS - (end / BATCH_COUNT) * BATCH_INTERVAL_MS
  return Array.from({ length: Math.ceil(rowCount / STEP_COUNT) }, (_, i) => {
    const first = firstNumber + i * STEP_COUNT
    return [first, Math.min(first + STEP_COUNT, end) - 1, timeOfZeroMs]
  }).flatMap((values) => [LOG, DECISIONS].map((into) => ({ text: `${rowsOf(eventIds)} ${into}`, values })))
}

/**
 * Drops what would be kept up to date row by row, and returns what makes it anew. An index that grows at random places
 * gets the room in its pages that it would have, had it grown: pages that split are two thirds full on average.
 */
async function dropIndexes(client: pg.Client, eventIds: EventIds): Promise<Statement[]> {
  const { rows } = await client.query(
    `
    SELECT indexrelid::regclass::text AS index, relname AS table, conname AS constraint,
      coalesce(pg_get_constraintdef(pg_constraint.oid), pg_get_indexdef(indexrelid)) AS definition
    FROM pg_index JOIN pg_class ON pg_class.oid = indrelid LEFT JOIN pg_constraint ON conindid = indexrelid
    WHERE indrelid = ANY($1::regclass[])`,
    [TABLES],
  )
  const randomKey =
    eventIds === 'random' ? /\((event_id|party_locator)\b|reverse\(/ : /\(party_locator\b|reverse\(/
  const statements: Statement[] = []
  for (const { index, table, constraint, definition } of rows) {
    const isRandom = randomKey.test(definition)
    const room = isRandom ? ' WITH (fillfactor = 67)' : ''
    const alterTable = `ALTER TABLE notifications.${table}`
    await client.query(
      constraint === null ? `DROP INDEX ${index}` : `${alterTable} DROP CONSTRAINT ${constraint}`,
    )
    const text =
      constraint === null
        ? definition.replace(/( WHERE .*)?$/, (where: string) => `${room}${where}`)
        : `${alterTable} ADD CONSTRAINT ${constraint} ${definition}${room}`
    statements.push({ text: `${text}; ${isRandom ? `ALTER INDEX ${index} RESET (fillfactor)` : ''}` })
  }
  return statements
}

/** A number between 0 and 1 that depends only on the row. */
const chance = (seed: number) => `((hashint8extended(n, ${seed}) & 1048575) / 1048576::float8)`

/**
 * $1 and $2: the first and the last number of the rows; $3: the time of row 0 in ms. A few parties have very many rows,
 * most have few; some event types are many times as common as others; FAILED is rare, all of it by SMS, and of claims
 * only. OFFSET 0 keeps what has a name from being worked out anew wherever the name is used.
 */
function rowsOf(eventIds: EventIds): string {
  const types = `ARRAY[${EVENT_TYPES.map((type) => `'${type}'`).join(', ')}]`
  const v7 = (bits: string) =>
    `left(hex, 8) || '-' || right(hex, 4) || '-7' || left(${bits}, 3) || '-8' || substr(${bits}, 4, 3) || '-' || right(${bits}, 12)`
  const v4 = `overlay(overlay(event_bits PLACING '4' FROM 13) PLACING '8' FROM 17)::uuid::text`
  return `
    WITH number AS (
      SELECT n, $3::float8 + n / ${BATCH_COUNT} * ${BATCH_INTERVAL_MS} AS ms,
        (power(${chance(2)}, 4) * ${PARTY_COUNT})::integer AS p, ${chance(3)} AS kind,
        md5('locator' || n) AS locator_bits, md5('event' || n) AS event_bits
      FROM generate_series($1::bigint, $2::bigint) AS n OFFSET 0
    ), party AS (
      SELECT *, lpad(to_hex(ms::bigint), 12, '0') AS hex, to_timestamp(ms / 1000) AS at,
        (p + 7) % ${PARTY_COUNT} AS party_number,
        (${types})[1 + floor(power(${chance(4)}, 1.5) * CASE WHEN kind < 0.005 THEN 0 WHEN p = 0 THEN 19 ELSE 20 END)::integer] AS type
      FROM number OFFSET 0
    ), entry AS (
      SELECT *, 'NTF-' || ${v7('locator_bits')} AS locator, ${eventIds === 'random' ? v4 : v7('event_bits')} AS event_id,
        CASE party_number % 100 WHEN 0 THEN 'unknown' WHEN 1 THEN 'no-email' WHEN 2 THEN 'no-email' WHEN 3 THEN 'no-phone'
          ELSE 'party' END || '-' || lpad(party_number::text, 6, '0') AS party_locator,
        CASE WHEN kind < 0.005 THEN 'claim.paid' ELSE type END AS event_type,
        CASE WHEN kind < 0.005 THEN 'FAILED' WHEN kind < 0.035 THEN 'SKIPPED' ELSE 'SENT' END AS status,
        CASE WHEN kind < 0.005 THEN 'SMS' WHEN kind < 0.93 THEN 'EMAIL' WHEN kind < 0.97 THEN 'SMS' ELSE 'IN_APP' END AS channel,
        CASE WHEN kind < 0.005 THEN 3 WHEN kind < 0.035 THEN 0 ELSE 1 END AS attempt,
        CASE WHEN kind < 0.005 THEN 'policy administration answered 503' WHEN kind < 0.035 THEN 'event type opted out' END AS reason,
        'CLA-' || lpad((n % 100000000)::text, 8, '0') AS object
      FROM party OFFSET 0
    )`
}

const LOG = `
  INSERT INTO notifications.notification_log (
    locator, event_id, party_locator, event_type, channel, status, subject, body, failure_reason, attempt_count, sent_at,
    created_at, last_attempt_at
  )
  SELECT locator, event_id, party_locator, event_type, channel, status,
    CASE WHEN status <> 'SKIPPED' THEN 'About your ' || event_type END,
    CASE WHEN status <> 'SKIPPED' THEN 'Your ' || event_type || ' with the reference ' || object || ' has been recorded.' END,
    reason, attempt, CASE WHEN status = 'SENT' THEN at END, at, CASE WHEN status <> 'SKIPPED' THEN at END
  FROM entry`

const DECISIONS = `
  INSERT INTO notifications.decision (
    locator, attempt, event_id, party_locator, event_type, outcome, channel, rule_id, reason, facts, variables,
    template_revision, rule_table_revision, receipt, decided_at, topic, partition_id, "offset"
  )
  SELECT locator, attempt, event_id, party_locator, event_type,
    CASE status WHEN 'SENT' THEN 'SEND' WHEN 'FAILED' THEN 'FAIL' ELSE 'SKIP' END, channel,
    CASE status WHEN 'SENT' THEN 'email' WHEN 'FAILED' THEN 'unresolved' ELSE 'opted-out' END, reason,
    jsonb_build_object('eventType', event_type, 'party', 'found', 'optedOut', status = 'SKIPPED', 'preferredChannel', channel,
      'emailOnFile', true, 'phoneOnFile', true),
    CASE WHEN status <> 'SKIPPED' THEN jsonb_build_object('eventType', event_type, 'locator', object, 'reason', null) END,
    CASE WHEN status <> 'SKIPPED' THEN repeat('a', 64) END, repeat('b', 64),
    CASE WHEN status = 'SENT' THEN channel || ':' || event_id || '/1' END, at, 'claims', 0, n
  FROM entry`
