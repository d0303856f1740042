import { readdir, readFile } from 'node:fs/promises'
import pg from 'pg'
import { sql } from 'slonik'
import t, { type Test } from 'tap'
import { migrate } from '../../../../src/operations/migrate/apply-migrations.ts'
import { compareSchema } from '../../../../src/operations/migrate/compare-schema.ts'
import { openPool } from '../../../../src/service/store/connection/pool.ts'
import {
  findLackOfUsefulRights,
  findReadinessFault,
  findSchemaChanges,
} from '../../../../src/service/store/schema/find-readiness-fault.ts'
import {
  describeFault,
  listParts,
  partFault,
  readMigrations,
  type SchemaChange,
} from '../../../../src/service/store/schema/migration.ts'
import { createDatabase, onServer } from '../../../stack/databases.ts'
import { NO_PGBOUNCER, startPgBouncer } from '../../../stack/pgbouncer.ts'
import { until } from '../../../stack/until.ts'
import { openDatabase } from '../fixtures.ts'

const { url, client } = await openDatabase(t)
await client.query('CREATE TABLE notifications.sample (id int NOT NULL, kind text)')
await client.query('INSERT INTO notifications.sample SELECT 1, null FROM generate_series(1, 2)')

const migrations = await readMigrations()
const user = `limited_${process.pid}`
const limited = new URL(url)
limited.username = user
await client.query(`CREATE ROLE ${user} LOGIN`)
t.teardown(async () => {
  await client.query(`DROP OWNED BY ${user}`)
  await client.query(`DROP ROLE ${user}`)
})
const pool = await openPool({ databaseUrl: limited.href, connectionCountMax: 1 })
t.teardown(() => pool.end())
const fault = async () => {
  const found = await findReadinessFault(pool, migrations)
  return found && describeFault(found)
}

/** Runs these migrations beside those that are applied; the result is told what it logs. */
function migrating(
  t: Test,
  files: Record<string, string>,
  onLog: (message: string) => void = () => {},
  databaseUrl = url,
) {
  const dir = t.testdir(
    Object.fromEntries(Object.entries(files).map(([name, source]) => [`${name}.sql`, source])),
  )
  return () => migrate(databaseUrl, { info: (_fields, message) => onLog(message) }, dir)
}

const valid = async (index: string) =>
  (await client.query('SELECT indisvalid FROM pg_index WHERE indexrelid = to_regclass($1)', [index])).rows[0]
    ?.indisvalid

/** Leaves an INVALID index, like an interrupted build: it fails on equal rows. */
async function leaveInvalid(index: string) {
  const built = client.query(`CREATE UNIQUE INDEX CONCURRENTLY ${index} ON notifications.sample (id)`)
  await built.catch(() => {})
}

t.test('a migration that waits for its table blocks no other session', async (t) => {
  const reader = new pg.Client(url)
  await reader.connect()
  t.teardown(() => reader.end())
  await reader.query('BEGIN')
  await reader.query('SELECT FROM notifications.sample')
  const messages: string[] = []
  const files = { '1001_column': 'ALTER TABLE notifications.sample ADD COLUMN more text' }
  const run = migrating(t, files, (message) => messages.push(message))
  const done = run()
  const retried = () => messages.some((message) => /another session holds a lock/.test(message))
  // Each of these would wait as long as the reader, were the migration to stay in the queue before it.
  await until(
    async () => {
      await client.query('INSERT INTO notifications.sample VALUES (2)')
      return retried()
    },
    { what: 'it to give the lock up' },
  )
  t.strictSame(
    (await client.query(`SELECT FROM notifications.migration WHERE name = '1001_column'`)).rowCount,
    0,
  )
  await reader.query('COMMIT')
  t.strictSame(await done, ['1001_column'])
  await client.query('SELECT more FROM notifications.sample')
})

t.test('an index is built beside open transactions, and an INVALID one is rebuilt', async (t) => {
  await leaveInvalid('sample_id')
  t.equal(await valid('notifications.sample_id'), false)
  const files = {
    '1002_index': '-- Why: a sample.\n\nCREATE INDEX CONCURRENTLY sample_id ON notifications.sample (id);\n',
    '1003_other_index':
      'create index -- A line break.\n  concurrently if not exists sample_kind\n  ON notifications.sample (kind);\n',
  }
  await leaveInvalid('sample_kind')
  const run = migrating(t, files)
  t.strictSame(await run(), ['1002_index', '1003_other_index'])
  t.equal(await valid('notifications.sample_id'), true)
  t.equal(await valid('notifications.sample_kind'), true)

  await client.query(`DELETE FROM notifications.migration WHERE name = '1002_index'`)
  t.strictSame(await run(), ['1002_index'], 'built but not recorded, as when it ended in between')
  const source = 'DROP INDEX CONCURRENTLY IF EXISTS notifications.sample_kind;'
  const drop = migrating(t, { '1004_drop': source })
  t.strictSame(await drop(), ['1004_drop'])
  t.equal(await valid('notifications.sample_kind'), undefined)
  await client.query(`DELETE FROM notifications.migration WHERE name = '1004_drop'`)
  t.strictSame(await drop(), ['1004_drop'], 'dropped but not recorded')
})

t.test('a failed migration leaves the previous ones applied', async (t) => {
  const files = {
    '1005_constraint':
      'ALTER TABLE notifications.sample ADD CONSTRAINT sample_id_small CHECK (id < 2) NOT VALID',
    '1006_validated': 'ALTER TABLE notifications.sample VALIDATE CONSTRAINT sample_id_small',
  }
  const run = migrating(t, files)
  await t.rejects(run(), /violated by some row/)
  await t.rejects(client.query('INSERT INTO notifications.sample VALUES (2)'), /sample_id_small/)
  await client.query('DELETE FROM notifications.sample WHERE id = 2')
  t.strictSame(await run(), ['1006_validated'])
})

t.test('no index is built through a pooler with a timeout', { skip: NO_PGBOUNCER }, async (t) => {
  const database = new URL(url).pathname.slice(1)
  for (const timeout of ['lock_timeout', 'statement_timeout'])
    await client.query(`ALTER DATABASE "${database}" SET ${timeout} = '1min'`)
  const pooler = await startPgBouncer(url, { pool_mode: 'transaction' })
  t.teardown(() => pooler.close())
  const files = { '1007_index': 'CREATE INDEX CONCURRENTLY sample_both ON notifications.sample (id, kind)' }
  const through = migrating(t, files, () => {}, pooler.through(url))
  await t.rejects(
    through(),
    /lock_timeout and statement_timeout would interrupt .* run `migrate` on a direct connection/,
  )
  t.equal(await valid('notifications.sample_both'), undefined)
  const directly = migrating(t, files)
  t.strictSame(await directly(), ['1007_index'])
  t.equal(await valid('notifications.sample_both'), true)
})

t.test('missing rights are reported one by one, and no other right is needed', async (t) => {
  t.match(
    await fault(),
    /permission denied for schema notifications: name the service's role .* or run db\/grants.sql/,
  )
  await client.query(`GRANT USAGE ON SCHEMA notifications TO ${user}`)
  t.match(
    await fault(),
    /permission denied for table migration: name the service's role .* or run db\/grants.sql/,
  )
  await client.query(`GRANT SELECT ON ALL TABLES IN SCHEMA notifications TO ${user}`)
  const reason = await fault()
  const missing: readonly string[] = reason?.match(/(INSERT|UPDATE|DELETE) ON notifications\.\w+/g) ?? []
  t.ok(missing.includes('INSERT ON notifications.decision'), reason ?? '')
  t.match(
    reason,
    new RegExp(
      `^the user ${user} lacks .*: name the service's role in DATABASE_URL, or run db/grants.sql as the owner of the schema$`,
    ),
  )
  for (const right of missing) await client.query(`GRANT ${right} TO ${user}`)
  t.equal(await fault(), null)
})

t.test('a table that the service reads, and may not, is named', async (t) => {
  const dir = new URL('../../../../src/service/store/', import.meta.url)
  const files = (await readdir(dir, { recursive: true })).filter((file) => file.endsWith('.ts'))
  const sources = await Promise.all(files.map((file) => readFile(new URL(file, dir), 'utf8')))
  const tables = new Set(
    sources.flatMap((source) => source.match(/(?<=(FROM|JOIN) )notifications\.\w+/g) ?? []),
  )
  t.ok(tables.has('notifications.erasure'))
  for (const table of tables) {
    await client.query(`REVOKE SELECT ON ${table} FROM ${user}`)
    const reason = `${await fault()} ${(await findLackOfUsefulRights(pool))?.problem}`
    t.match(reason, new RegExp(`lacks SELECT ON ${table}\\b|permission denied for table migration`), table)
    await client.query(`GRANT SELECT ON ${table} TO ${user}`)
  }
})

t.test('another text under an applied name is reported, and not migrated over', async (t) => {
  const name = '1008_edited'
  const made = 'CREATE TABLE notifications.edited (id text, kind text)'
  t.strictSame(await migrating(t, { [name]: made })(), [name])
  const other = migrating(t, { [name]: made.replace('kind', 'sort'), '1009_more': 'SELECT 1' })
  await t.rejects(other(), {
    message: /^the text of 1008_edited is not the one that was applied: set all checksums/,
  })
  t.strictSame(
    await migrating(t, { [name]: `-- A comment.\n${made.replace(', ', ',\n  ')}` })(),
    [],
    'comments may change',
  )

  const [first] = migrations
  const edit = 'UPDATE notifications.migration SET checksum = $2 WHERE name = $1'
  await client.query(edit, [first?.name, 'another'])
  t.match(await fault(), /^the text of 0001_notifications is not the one that was applied/)
  await client.query(edit, [first?.name, first?.checksum])
  t.equal(await fault(), null)
})

/** Changes of a schema, how to undo each, and what `migrate` says that it lacks. */
const CHANGES: readonly (readonly [change: string, undo: string, lacking: RegExp])[] = [
  [
    'ALTER TABLE old DROP COLUMN kind',
    'ALTER TABLE old ADD COLUMN kind text COLLATE "C" DEFAULT \'a\'',
    /column old\.kind text COLLATE "C" DEFAULT 'a'/,
  ],
  [
    'ALTER TABLE old ALTER COLUMN "offset" TYPE integer',
    'ALTER TABLE old ALTER COLUMN "offset" TYPE bigint',
    /column old\.offset bigint NOT NULL$/m,
  ],
  [
    'ALTER TABLE old ALTER COLUMN "offset" DROP NOT NULL',
    'ALTER TABLE old ALTER COLUMN "offset" SET NOT NULL',
    /column old\.offset bigint NOT NULL$/m,
  ],
  [
    'ALTER TABLE old ALTER COLUMN kind DROP DEFAULT',
    "ALTER TABLE old ALTER COLUMN kind SET DEFAULT 'a'",
    /column old\.kind/,
  ],
  [
    'ALTER TABLE old DROP CONSTRAINT old_key',
    'ALTER TABLE old ADD CONSTRAINT old_key UNIQUE (id)',
    /CREATE UNIQUE INDEX old_key .*\nconstraint old_key of old UNIQUE \(id\)/,
  ],
  [
    "ALTER TABLE old DROP CONSTRAINT old_id; ALTER TABLE old ADD CONSTRAINT old_id CHECK (id = 'a')",
    "ALTER TABLE old DROP CONSTRAINT old_id; ALTER TABLE old ADD CONSTRAINT old_id CHECK (id IN ('a', 'b'))",
    /constraint old_id of old CHECK .*'b'/,
  ],
  ['DROP INDEX old_offset', 'CREATE INDEX old_offset ON old ("offset")', /CREATE INDEX old_offset ON old/],
  [
    "UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'old_offset'::regclass",
    "UPDATE pg_index SET indisvalid = true WHERE indexrelid = 'old_offset'::regclass",
    /CREATE INDEX old_offset ON old/,
  ],
]

t.test('a database without checksums gets them only if it is what its migrations make', async (t) => {
  const files = {
    '1010_old': `CREATE TABLE notifications.old (
        id text, "offset" bigint NOT NULL, kind text COLLATE "C" DEFAULT 'a',
        CONSTRAINT old_id CHECK (id IN ('a', 'b')), CONSTRAINT old_key UNIQUE (id)
      )`,
    '1011_old': 'CREATE INDEX CONCURRENTLY old_offset ON notifications.old ("offset")',
  }
  const run = migrating(t, files)
  await run()
  // As versions that recorded no checksum left it.
  await client.query('ALTER TABLE notifications.migration DROP COLUMN checksum')
  const inSchema = (change: string) =>
    client.query(`SET search_path = notifications; ${change}; RESET search_path`)
  for (const [change, undo, lacking] of CHANGES) {
    await inSchema(change)
    const message = await run().then(String, ({ message }: Error) => message)
    t.match(
      message,
      /^another text of a migration was applied, or the schema was changed since\. It lacks:\n/,
    )
    t.match(message, lacking, change)
    await inSchema(undo)
  }
  t.strictSame(
    (
      await client.query(
        `SELECT FROM pg_attribute WHERE attname = 'checksum' AND attrelid = 'notifications.migration'::regclass`,
      )
    ).rowCount,
    0,
    'nothing was recorded',
  )
  await inSchema('CREATE INDEX old_more ON old (id, kind)')
  t.strictSame(await run(), [], 'more than the migrations make is no fault')
  const { rows } = await client.query(`SELECT checksum FROM notifications.migration WHERE name = '1010_old'`)
  t.match(rows, [{ checksum: /^[0-9a-f]{64}$/ }])

  await client.query('ALTER TABLE notifications.decision RENAME retried_by TO moved')
  t.equal(await fault(), null, 'a newer version may have dropped it')
  await client.query(`DELETE FROM notifications.migration WHERE name > '1000'`)
  t.match(
    await fault(),
    /^the schema lacks notifications\.decision\.retried_by, which 0001_notifications makes/,
  )
  await client.query('ALTER TABLE notifications.decision RENAME moved TO retried_by')
  t.equal(await fault(), null)
})

t.test('the migrations of an early release are compared with the schema, too', async (t) => {
  const run = () => migrate(url, { info: () => {} })
  await client.query('UPDATE notifications.migration SET checksum = NULL')
  await client.query(
    'ALTER TABLE notifications.notification_log DROP CONSTRAINT notification_log_event_id_key',
  )
  await t.rejects(run(), {
    message: /constraint notification_log_event_id_key of notification_log UNIQUE \(event_id\)/,
  })
  t.match(
    await fault(),
    /^the schema lacks the key notification_log_event_id_key of notifications\.notification_log, which 0001/,
  )
  await client.query(
    'ALTER TABLE notifications.notification_log ADD CONSTRAINT notification_log_event_id_key UNIQUE (event_id)',
  )
  t.strictSame(await run(), [])
  t.equal(await fault(), null)

  await client.query('ALTER TABLE notifications.notification_log ALTER COLUMN channel DROP NOT NULL')
  await t.rejects(
    run(),
    { message: /column notification_log\.channel text .*NOT NULL/ },
    'with checksums, too',
  )
  await client.query('ALTER TABLE notifications.notification_log ALTER COLUMN channel SET NOT NULL')
})

t.test('a schema that was dumped and restored is no other', async (t) => {
  const { rows } = await client.query(`
    SELECT conrelid::regclass AS "table", conname AS name, pg_get_constraintdef(oid) AS definition FROM pg_constraint
    WHERE connamespace = 'notifications'::regnamespace AND contype = 'c'`)
  for (const { table, name, definition } of rows)
    await client.query(`
      ALTER TABLE ${table} DROP CONSTRAINT ${name};
      ALTER TABLE ${table} ADD CONSTRAINT ${name} ${definition.replace(/ NOT VALID$/, '')}`)
  await client.query('ALTER INDEX notifications.notification_log_status SET (fillfactor = 70)')
  t.strictSame(await migrate(url, { info: () => {} }), [])
  t.equal(await fault(), null)
})

t.test('without the right to make temporary tables, `migrate` says which statement grants it', async (t) => {
  const role = `owner_${process.pid}`
  const asOwner = new URL(url)
  asOwner.username = role
  const database = asOwner.pathname.slice(1)
  await client.query(`
    CREATE ROLE ${role} LOGIN; GRANT ALL ON SCHEMA notifications TO ${role};
    GRANT ALL ON ALL TABLES IN SCHEMA notifications TO ${role};
    REVOKE TEMPORARY ON DATABASE ${database} FROM PUBLIC;
    UPDATE notifications.migration SET checksum = NULL`)
  t.teardown(async () => {
    await migrate(url, { info: () => {} })
    await client.query(`
      GRANT TEMPORARY ON DATABASE ${database} TO PUBLIC; DROP OWNED BY ${role}; DROP ROLE ${role}`)
  })
  await t.rejects(migrate(asOwner.href, { info: () => {} }), {
    message: new RegExp(`run GRANT TEMPORARY ON DATABASE ${database} TO ${role}, run `),
  })
  await migrate(url, { info: () => {} })
  const said: string[] = []
  await migrate(asOwner.href, { info: (_fields, message) => said.push(message) })
  t.match(said, ['the schema is not compared with its migrations: that needs temporary tables'])
})

const inSchema = `namespace.nspname = 'notifications' AND relname NOT IN ('migration', 'sample', 'old', 'edited')`
/** What is there: whether it is a key, and how to drop it. */
const PARTS = `
  SELECT 'column' AS kind, 'notifications.' || relname AS "table", attname AS name,
    format('ALTER TABLE notifications.%I DROP COLUMN %I CASCADE', relname, attname) AS drop
  FROM pg_attribute JOIN pg_class ON pg_class.oid = attrelid JOIN pg_namespace AS namespace ON namespace.oid = relnamespace
  WHERE ${inSchema} AND relkind = 'r' AND attnum > 0 AND NOT attisdropped AND attname <> 'offset'
  UNION ALL
  SELECT 'default', 'notifications.' || relname, attname,
    format('ALTER TABLE notifications.%I ALTER COLUMN %I DROP DEFAULT', relname, attname)
  FROM pg_attribute JOIN pg_class ON pg_class.oid = attrelid JOIN pg_namespace AS namespace ON namespace.oid = relnamespace
  WHERE ${inSchema} AND relkind = 'r' AND atthasdef AND attgenerated = ''
  UNION ALL
  SELECT CASE WHEN contype IN ('p', 'u') THEN 'key' ELSE 'constraint' END, 'notifications.' || relname, conname,
    format('ALTER TABLE notifications.%I DROP CONSTRAINT %I CASCADE', relname, conname)
  FROM pg_constraint JOIN pg_class ON pg_class.oid = conrelid JOIN pg_namespace AS namespace ON namespace.oid = relnamespace
  WHERE ${inSchema} AND contype <> 'n'
  UNION ALL
  SELECT CASE WHEN indisunique THEN 'key' ELSE 'index' END, 'notifications.' || relname, indexrelid::regclass::text,
    format('DROP INDEX %s', indexrelid::regclass)
  FROM pg_index JOIN pg_class ON pg_class.oid = indrelid JOIN pg_namespace AS namespace ON namespace.oid = relnamespace
  WHERE ${inSchema} AND NOT EXISTS (SELECT FROM pg_constraint WHERE conindid = indexrelid AND conrelid = indrelid)`

t.test('each part of the schema is known, and named if it is dropped', async (t) => {
  const owner = await openPool({ databaseUrl: url, connectionCountMax: 1 })
  t.teardown(() => owner.end())
  // Slonik takes no text as a statement.
  await client.query(
    `CREATE FUNCTION run(change text) RETURNS void LANGUAGE plpgsql AS 'BEGIN EXECUTE change; END'`,
  )
  const { rows: found } = await client.query(PARTS)
  const parts = found.map(({ kind, table, name }) => ({
    kind,
    table,
    name: name.replace('notifications.', ''),
  }))
  const sorted = (list: readonly { kind: string; table: string; name: string }[]) =>
    list.map(({ kind, table, name }) => `${kind} ${table} ${name}`).sort()
  t.strictSame(sorted(listParts(migrations)), sorted(parts), 'all are listed, and no other')
  t.strictSame(await findSchemaChanges(owner, migrations), [])
  for (const [index, { drop }] of found.entries()) {
    const changed = owner.transaction(async (tx) => {
      await tx.query(sql.unsafe`SELECT run(${drop})`)
      throw new Dropped(await findSchemaChanges(tx, migrations))
    })
    const missing = await changed.then(
      () => [],
      (error) => {
        if (!(error instanceof Dropped)) throw error
        return error.missing
      },
    )
    t.match(
      missing.filter(({ kind, name }) => kind === parts[index]?.kind && name === parts[index]?.name),
      [parts[index]],
      drop,
    )
  }
})

/** Another index under the name of a key. */
const OTHER_KEYS = [
  `ALTER TABLE notifications.notification_log DROP CONSTRAINT notification_log_event_id_key;
  CREATE INDEX notification_log_event_id_key ON notifications.notification_log (event_id)`,
  `ALTER TABLE notifications.notification_log DROP CONSTRAINT notification_log_event_id_key;
  CREATE UNIQUE INDEX notification_log_event_id_key ON notifications.notification_log (event_id, locator)`,
  `ALTER TABLE notifications.notification_log DROP CONSTRAINT notification_log_event_id_key;
  CREATE UNIQUE INDEX notification_log_event_id_key ON notifications.notification_log (event_id) WHERE attempt_count > 1`,
  `UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'notifications.notification_log_event_id_key'::regclass`,
]
t.test('a key is missing if another index, or an invalid one, has its name', async (t) => {
  const owner = await openPool({ databaseUrl: url, connectionCountMax: 1 })
  t.teardown(() => owner.end())
  for (const change of OTHER_KEYS) {
    const changed = owner.transaction(async (tx) => {
      await tx.query(sql.unsafe`SELECT run(${change})`)
      throw new Dropped(await findSchemaChanges(tx, migrations))
    })
    const error = await changed.catch((error) => error)
    t.match(error.missing, [{ kind: 'key', name: 'notification_log_event_id_key' }], change)
  }
})

t.test('the right to make ids is needed, and that to say that a replica runs is useful', async (t) => {
  const revoke = (what: string, from: string) => client.query(`REVOKE ${what} FROM ${from}`)
  const grant = (what: string, to: string) => client.query(`GRANT ${what} TO ${to}`)
  const nextId = 'EXECUTE ON FUNCTION notifications.next_id()'
  await revoke(nextId, 'PUBLIC')
  t.match(
    await fault(),
    new RegExp(`^the user ${user} lacks EXECUTE ON FUNCTION notifications.next_id\\(\\): `),
  )
  await grant(nextId, 'PUBLIC')
  t.equal(await fault(), null)
  t.match(await findLackOfUsefulRights(pool), { problem: /lacks INSERT .*UPDATE ON notifications\.replica/ })
  await grant('INSERT, UPDATE ON notifications.replica', user)
  t.equal(await findLackOfUsefulRights(pool), null)
})

/** Changes that are not of parts, how to undo each, and how `/readyz` and `doctor` name it. */
const ADDITIONS: readonly (readonly [change: string, undo: string, named: RegExp])[] = [
  [
    'ALTER TABLE notifications.notification_log SET UNLOGGED',
    'ALTER TABLE notifications.notification_log SET LOGGED',
    /^notifications\.notification_log is UNLOGGED, .*: run ALTER TABLE notifications\.notification_log SET LOGGED/,
  ],
  [
    'ALTER TABLE notifications.notification_preferences ENABLE ROW LEVEL SECURITY',
    'ALTER TABLE notifications.notification_preferences DISABLE ROW LEVEL SECURITY',
    /^row level security may hide rows of notifications\.notification_preferences .*: run ALTER TABLE .* DISABLE ROW LEVEL SECURITY/,
  ],
  [
    `ALTER TABLE notifications.notification_log DROP CONSTRAINT notification_log_event_id_key,
      ADD CONSTRAINT notification_log_event_id_key UNIQUE (event_id) DEFERRABLE`,
    `ALTER TABLE notifications.notification_log DROP CONSTRAINT notification_log_event_id_key,
      ADD CONSTRAINT notification_log_event_id_key UNIQUE (event_id)`,
    /^the schema lacks the key notification_log_event_id_key .*not deferrable\): run `migrate`/,
  ],
  [
    `ALTER FUNCTION notifications.next_id() OWNER TO ${user}`,
    'ALTER FUNCTION notifications.next_id() OWNER TO CURRENT_USER',
    new RegExp(
      `^notifications\\.next_id\\(\\) runs as ${user}, who may not use notifications\\.id_counter: make`,
    ),
  ],
  [
    'ALTER FUNCTION notifications.next_id() SECURITY INVOKER',
    'ALTER FUNCTION notifications.next_id() SECURITY DEFINER',
    /^notifications\.next_id\(\) runs as .*: make notifications\.next_id\(\) SECURITY DEFINER/,
  ],
]

t.test('what was added to a table is named, with its remedy', async (t) => {
  for (const [change, undo, named] of ADDITIONS) {
    await client.query(change)
    t.match(await fault(), named, change)
    await client.query(undo)
    t.equal(await fault(), null)
  }
  // Tables of others, such as a transport's queue, may be as they are.
  await client.query('ALTER TABLE notifications.sample SET UNLOGGED')
  t.equal(await fault(), null)
})

t.test('a trigger is named, and keeps nobody from working', async (t) => {
  await client.query(`
    CREATE FUNCTION trap() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END';
    CREATE TRIGGER trap BEFORE INSERT ON notifications.decision FOR EACH ROW EXECUTE FUNCTION trap()`)
  t.equal(await fault(), null)
  t.match(partFault(await findSchemaChanges(pool, migrations)), {
    problem: 'the trigger trap of notifications.decision may change or drop what the service writes',
    remedy: /^run DROP TRIGGER trap ON notifications\.decision/,
  })
  await client.query('DROP TRIGGER trap ON notifications.decision; DROP FUNCTION trap()')
})

t.test('a rule, an inheriting table, and a key or constraint of others are named, too', async (t) => {
  const table = 'notifications.decision'
  for (const [change, undo, problem] of [
    [
      `CREATE RULE trap AS ON INSERT TO ${table} DO INSTEAD NOTHING`,
      `DROP RULE trap ON ${table}`,
      'the rule trap of notifications.decision may change or drop what the service writes',
    ],
    [
      `CREATE TABLE copy () INHERITS (${table})`,
      'DROP TABLE copy',
      'the table copy inherits from notifications.decision, so that its rows are read as those of the service',
    ],
    [
      `ALTER TABLE ${table} ADD CONSTRAINT trap CHECK (attempt < 3)`,
      `ALTER TABLE ${table} DROP CONSTRAINT trap`,
      'trap of notifications.decision may refuse what the service writes',
    ],
    [
      `CREATE UNIQUE INDEX trap ON ${table} (event_id)`,
      'DROP INDEX notifications.trap',
      'trap of notifications.decision may refuse what the service writes',
    ],
  ] as const) {
    await client.query(change)
    t.equal(await fault(), null, change)
    t.match(partFault(await findSchemaChanges(pool, migrations)), {
      problem,
      remedy: /^(run DROP|run ALTER|drop) .* as the owner of the schema, unless it is meant$/,
    })
    await client.query(undo)
    t.strictSame(await findSchemaChanges(pool, migrations), [])
  }
})

t.test('the spelling of the database is no difference, and another body of a function is', async (t) => {
  const database = new URL(url).pathname.slice(1)
  const log = { info: () => {} }
  for (const setting of ['standard_conforming_strings = off', 'quote_all_identifiers = on'])
    await client.query(`ALTER DATABASE "${database}" SET ${setting}`)
  t.strictSame(await migrate(url, log), [])
  t.equal(await fault(), null)
  for (const setting of ['standard_conforming_strings', 'quote_all_identifiers'])
    await client.query(`ALTER DATABASE "${database}" RESET ${setting}`)

  const define = (expression: string) =>
    client.query(`CREATE OR REPLACE FUNCTION notifications.next_id() RETURNS bigint LANGUAGE sql VOLATILE SECURITY DEFINER
      RETURN ${expression}`)
  t.strictSame(await compareSchema(url, migrations), [])
  await define(`nextval('notifications.id_counter')`)
  t.match(await compareSchema(url, migrations), [/^CREATE OR REPLACE FUNCTION next_id\(\)/])
  await define(
    `(floor(extract(epoch FROM clock_timestamp()))::bigint - 1767225600) * 4194304 + nextval('notifications.id_counter')`,
  )
  t.strictSame(await compareSchema(url, migrations), [])
})

t.test('a migration that was applied and is not recorded has a remedy that works', async (t) => {
  const files = { '1012_made': 'CREATE TABLE notifications.made (id text)' }
  const run = migrating(t, files)
  await run()
  await client.query(`DELETE FROM notifications.migration WHERE name = '1012_made'`)
  const { message } = (await run().catch((error: Error) => error)) as Error
  t.match(message, /^1012_made makes what the schema has already .*\nIf it was applied, record it/)
  await client.query(/^INSERT .*/m.exec(message)?.[0] ?? '')
  t.strictSame(await run(), [])
  await client.query(
    `DROP TABLE notifications.made; DELETE FROM notifications.migration WHERE name = '1012_made'`,
  )
})

/** Rolls the drop back. */
class Dropped extends Error {
  readonly missing: readonly SchemaChange[]

  constructor(missing: readonly SchemaChange[]) {
    super('dropped')
    this.missing = missing
  }
}

t.test('a missing table is reported', async (t) => {
  await client.query('ALTER TABLE notifications.decision RENAME TO moved')
  t.match(await fault(), /^the schema lacks notifications\.decision\.locator and \d+ more parts/)
  await client.query('ALTER TABLE notifications.moved RENAME TO decision')
})

t.test('a database that cannot store every text is not ready', async (t) => {
  const { url, drop } = await createDatabase(undefined, 'template0', `ENCODING 'LATIN1' LOCALE 'C'`)
  // As before `migrate` refused such a database.
  await onServer(url, async (owner) => {
    await owner.query('CREATE SCHEMA notifications')
    await owner.query('CREATE TABLE notifications.migration (name text)')
    for (const { name, source } of migrations) {
      await owner.query(source)
      await owner.query('INSERT INTO notifications.migration VALUES ($1)', [name])
    }
  })
  const inLatin1 = await openPool({ databaseUrl: url, connectionCountMax: 1 })
  t.teardown(async () => {
    await inLatin1.end()
    await drop()
  })
  t.match((await findReadinessFault(inLatin1, migrations))?.problem, /the encoding of the database is LATIN1/)
})
