import { readdir, readFile } from 'node:fs/promises'
import t from 'tap'
import { migrationFaults } from '../../src/build/migration-faults.ts'

const faultsOf = (...statements: string[]) =>
  migrationFaults(`-- Why: a sample.\n${statements.join(';\n')};\n`)

t.test('what keeps writers waiting is a fault, with its remedy', async (t) => {
  const cases: [string, RegExp][] = [
    ['CREATE INDEX a ON s.log (b)', /build the index CONCURRENTLY/],
    ['CREATE UNIQUE INDEX a\n  ON s.log (b)', /build the index CONCURRENTLY/],
    ['DROP INDEX s.a', /drop the index CONCURRENTLY/],
    ['REINDEX INDEX s.a', /rebuild the index/],
    ['ALTER TABLE s.log ADD CONSTRAINT a CHECK (b > 0)', /NOT VALID/],
    ['ALTER TABLE s.log ADD FOREIGN KEY (b) REFERENCES s.other', /NOT VALID/],
    ['ALTER TABLE s.log ADD CONSTRAINT a UNIQUE (b)', /USING INDEX/],
    ['ALTER TABLE s.log ADD COLUMN a text GENERATED ALWAYS AS (b) STORED', /plain column/],
    ['ALTER TABLE s.log ADD COLUMN a uuid DEFAULT gen_random_uuid()', /constant default/],
    ['ALTER TABLE s.log ADD COLUMN a text NOT NULL', /without NOT NULL/],
    ['ALTER TABLE s.log ALTER COLUMN a TYPE bigint', /rewrites the table/],
    ['ALTER TABLE s.log ALTER COLUMN a SET NOT NULL', /IS NOT NULL\) NOT VALID/],
    ['ALTER TABLE s.log RENAME COLUMN a TO b', /new name/],
    ['UPDATE s.log SET a = 1', /small transactions/],
  ]
  for (const [statement, remedy] of cases) t.match(faultsOf(statement).join(), remedy, statement)
})

t.test('what nobody waits for is none', async (t) => {
  const cases = [
    ['CREATE INDEX CONCURRENTLY a ON s.log (b)'],
    ['DROP INDEX CONCURRENTLY s.a'],
    ['ALTER TABLE s.log ADD CONSTRAINT a CHECK (b > 0) NOT VALID'],
    ['ALTER TABLE s.log VALIDATE CONSTRAINT a'],
    ['ALTER TABLE s.log ADD COLUMN a text', "ALTER TABLE s.log ADD COLUMN b text NOT NULL DEFAULT 'x'"],
    ['ALTER TABLE s.log ADD CONSTRAINT a UNIQUE USING INDEX b'],
    [
      'CREATE TABLE s.new (a text UNIQUE)',
      'CREATE INDEX b ON s.new (a)',
      'ALTER TABLE s.new ADD CHECK (a > b)',
    ],
  ]
  for (const statements of cases) t.same(faultsOf(...statements), [], statements.join())
})

t.test('what cannot be in one file is a fault', async (t) => {
  t.match(faultsOf('CREATE INDEX CONCURRENTLY a ON s.log (b)', 'SELECT 1'), [/a file of its own/])
  const both = ['ALTER TABLE s.log ADD CHECK (a > b) NOT VALID', 'ALTER TABLE s.log VALIDATE CONSTRAINT a']
  t.match(faultsOf(...both), [/in the next file/])
  t.match(migrationFaults('SELECT 1;'), [/begin with a comment/])
})

t.test('the migrations have no fault', async (t) => {
  const dir = new URL('../../db/migrations/', import.meta.url)
  for (const file of await readdir(dir))
    t.same(migrationFaults(await readFile(new URL(file, dir), 'utf8')), [], file)
})
