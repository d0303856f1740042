const LOG = 'notifications.notification_log'

/** One of each kind that migrations may be, in order: each undoes or needs those before it. */
export const SAMPLE_MIGRATIONS: Readonly<Record<string, string>> = {
  '1001_table': `
    CREATE TABLE notifications.sample (id bigint PRIMARY KEY, kind text);
    CREATE INDEX sample_kind ON notifications.sample (kind) WHERE kind IS NOT NULL`,
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
  '1012_table_dropped': '-- Unused since: 1.0.0\nDROP TABLE notifications.sample',
}
