import { readdir, readFile } from 'node:fs/promises'
import t from 'tap'
import { migrationFaults } from '../../src/build/check-migrations.ts'

const LOG = 'notifications.notification_log'

/** One of each kind that migrations may be. */
const SAMPLE_MIGRATIONS: Readonly<Record<string, string>> = {
  '1001_table': `
    CREATE TABLE notifications.sample (id bigint PRIMARY KEY DEFAULT 1, kind text);
    CREATE INDEX sample_kind ON notifications.sample (kind) WHERE kind IS NOT NULL;
    INSERT INTO notifications.sample DEFAULT VALUES`,
  '1002_column': `ALTER TABLE ${LOG} ADD COLUMN sample text`,
  '1003_column_with_default': `ALTER TABLE ${LOG} ADD COLUMN sample_count integer NOT NULL DEFAULT 0`,
  '1004_constraint': `ALTER TABLE ${LOG} ADD CONSTRAINT sample_short CHECK (length(sample) < 9) NOT VALID`,
  '1005_validated': `ALTER TABLE ${LOG} VALIDATE CONSTRAINT sample_short`,
  '1006_index': `CREATE INDEX CONCURRENTLY sample_event_type ON ${LOG} (event_type, locator);`,
  '1007_index_dropped': 'DROP INDEX CONCURRENTLY IF EXISTS notifications.sample_event_type;',
  '1008_unique_index': `CREATE UNIQUE INDEX CONCURRENTLY sample_key ON ${LOG} (event_id, locator);`,
  '1009_unique': `ALTER TABLE ${LOG} ADD CONSTRAINT sample_key UNIQUE USING INDEX sample_key`,
  '1010_constraint_dropped': `-- Unused since: 1.0.0\nALTER TABLE ${LOG} DROP CONSTRAINT sample_key`,
  '1011_column_dropped': `-- Unused since: 1.0.0\nALTER TABLE ${LOG} DROP COLUMN sample`,
  '1012_ids': `
    CREATE SEQUENCE notifications.sample_counter MINVALUE 0 MAXVALUE 9 CYCLE;
    CREATE FUNCTION notifications.sample_id() RETURNS bigint LANGUAGE sql VOLATILE SECURITY DEFINER
      RETURN nextval('notifications.sample_counter')`,
  '1013_default': `ALTER TABLE ${LOG} ALTER COLUMN id DROP IDENTITY, ALTER COLUMN id SET DEFAULT notifications.sample_id()`,
  '1014_table_dropped': '-- Unused since: 1.0.0\nDROP TABLE notifications.sample',
}

const faultsOf = (...statements: string[]) =>
  migrationFaults(`-- Why: a sample.\n${statements.join(';\n')};\n`)

/** Statements that keep writers waiting, or break the version that runs. */
const BLOCKING = `
CREATE INDEX a ON s.log (b)
create index a on s.log (b)
CREATE INDEX CONCURRENTLY IF NOT EXISTS a ON s.log (b)
DROP INDEX s.a
DROP INDEX CONCURRENTLY s.a
REINDEX INDEX CONCURRENTLY s.a
ALTER TABLE s.log ADD CONSTRAINT a CHECK (b > 0)
ALTER TABLE s.log ADD CONSTRAINT a CHECK (b > 0), ADD CONSTRAINT c CHECK (d > 0) NOT VALID
ALTER TABLE s.log ADD CONSTRAINT a CHECK (b > E'\\''), ADD c bigserial CHECK ('' < b) NOT VALID
ALTER TABLE s.log ADD FOREIGN KEY (b) REFERENCES s.other
ALTER TABLE s.log ADD CONSTRAINT a UNIQUE (b)
ALTER TABLE s.log ADD COLUMN a bigserial
ALTER TABLE s.log ADD COLUMN a numeric DEFAULT (random())
ALTER TABLE s.log ADD COLUMN a text GENERATED ALWAYS AS (b) STORED
ALTER TABLE s.log ADD COLUMN a text NOT NULL
ALTER TABLE s.log ALTER COLUMN a TYPE bigint
ALTER TABLE s.log DROP COLUMN a
ALTER TABLE s.log ALTER COLUMN a DROP IDENTITY
ALTER TABLE s.log ALTER COLUMN a DROP IDENTITY, ALTER COLUMN b SET DEFAULT s.id()
DROP TABLE s.log
CREATE TABLE s.new (a) AS (SELECT b FROM s.log)
CREATE TABLE IF NOT EXISTS s.log (a text)
WITH a AS (SELECT 1) UPDATE s.log SET a = 1
INSERT INTO s.log DEFAULT VALUES
DO $$ BEGIN UPDATE s.log SET a = 1; END $$
/* -- */ UPDATE s.log SET a = 1
VACUUM FULL s.log`

t.test('a statement that blocks writers, or breaks the running version, is a fault', async (t) => {
  for (const statement of BLOCKING.trim().split('\n')) {
    const faults = faultsOf(statement)
    t.equal(faults.length, 1, statement)
    t.match(faults[0], /: write one of the forms in db\/README\.md/, statement)
  }
})

t.test('a statement that blocks nobody is no fault', async (t) => {
  for (const [name, source] of Object.entries(SAMPLE_MIGRATIONS))
    t.strictSame(migrationFaults(`-- Why: a sample.\n${source}`), [], name)
})

t.test('only a table of the same file may be referenced, or indexed under a lock', async (t) => {
  const made = 'CREATE TABLE s.new (a text UNIQUE)'
  t.strictSame(faultsOf(made, 'CREATE INDEX b ON s.new (a)'), [])
  t.match(faultsOf(made, 'CREATE INDEX b ON s.news (a)'), [/write one of the forms/])
  t.strictSame(faultsOf(made, 'CREATE TABLE s.more (a text REFERENCES s.new (a))'), [])
  t.match(faultsOf('CREATE TABLE s.more (a text REFERENCES s.log)'), [
    /foreign key to a table of another file/,
  ])
})

t.test('statements that cannot share a file are a fault', async (t) => {
  const column = 'ALTER TABLE s.log ADD COLUMN a text'
  t.match(faultsOf('create index concurrently a ON s.log (b)', column), [/CONCURRENTLY .* a file of its own/])
  t.match(faultsOf('ALTER TABLE s.log VALIDATE CONSTRAINT a', column), [/validate .* a file of its own/])
  t.match(migrationFaults(`${column};`), [/begin with a comment/])
})

t.test('the migrations have no fault', async (t) => {
  const dir = new URL('../../db/migrations/', import.meta.url)
  for (const file of await readdir(dir))
    t.strictSame(migrationFaults(await readFile(new URL(file, dir), 'utf8')), [], file)
})
