import type pg from 'pg'

/** The service's tables at one moment. Times are in ms since 1970; offsets are numbers. */
export interface Snapshot {
  readonly log: readonly LogRow[]
  /** Ordered by attempt. */
  readonly decisions: readonly DecisionRow[]
  readonly rejected: readonly RejectedRow[]
  /** Changes of preferences by the numbers of their PUTs, of parties that have such; the ids are in the order of the changes. */
  readonly changes: readonly { readonly party: string; readonly number: number; readonly id: number }[]
  readonly checkpoints: readonly Place[]
  /** Changes of checkpoints that should not be: set back, or deleted. `became` is null where the row was deleted. */
  readonly setBack: readonly { topic: string; partition: number; was: number; became: number | null }[]
  /** The number of transactions that left a decision beyond the checkpoint of its partition. */
  readonly beyondCount: number
  readonly openRequestCount: number
}

type Texts<Name extends string> = Readonly<Record<Name, string>>
type Nullable<Name extends string> = Readonly<Record<Name, string | null>>
type Place = Texts<'topic'> & Readonly<Record<'partition' | 'offset', number>>

export type LogRow = Texts<'locator' | 'event_id' | 'event_type' | 'channel' | 'status'> &
  Nullable<'party_locator' | 'subject' | 'body' | 'failure_reason'> & { readonly attempt_count: number }

export type DecisionRow = Place &
  Texts<'locator' | 'event_id' | 'event_type' | 'outcome' | 'channel' | 'rule_id' | 'rule_table_revision'> &
  Nullable<'party_locator' | 'reason' | 'receipt' | 'send_error'> &
  Readonly<Record<'attempt' | 'decided_ms', number>> & {
    readonly change_id: number | null
    /** Null unless a person asked for it. */
    readonly request_id: number | null
    readonly is_erased: boolean
    readonly has_variables: boolean
    readonly facts: Readonly<Record<string, unknown>>
  }

type RejectedRow = Place &
  Texts<'code'> &
  Readonly<Record<'key' | 'value', Buffer | null>> & {
    readonly is_erased: boolean
  }

const PLACE = 'topic, partition_id AS partition, "offset"::float8'

/** Reads all in one REPEATABLE READ transaction. */
export async function readSnapshot(client: pg.ClientBase): Promise<Snapshot> {
  const rows = async <Row>(query: string) => (await client.query(query)).rows as Row[]
  await client.query('BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY')
  try {
    const count = async (from: string) =>
      (await rows<{ count: number }>(`SELECT count(*)::int FROM ${from}`))[0]?.count ?? 0
    return {
      log: await rows(`
        SELECT locator, event_id, party_locator, event_type, channel, status, subject, body, failure_reason,
          attempt_count
        FROM notifications.notification_log`),
      decisions: await rows(`
        SELECT locator, attempt, event_id, party_locator, event_type, outcome, channel, rule_id, rule_table_revision, reason, facts, receipt,
          send_error, preference_change_id::float8 AS change_id,
          request_id::float8, erased_at IS NOT NULL AS is_erased, variables IS NOT NULL AS has_variables, extract(epoch FROM decided_at)::float8 * 1000 AS decided_ms, ${PLACE}
        FROM notifications.decision ORDER BY attempt`),
      rejected: await rows(`SELECT ${PLACE}, key, value, code, erased_at IS NOT NULL AS is_erased
        FROM notifications.rejected_message`),
      changes: await rows(`
        SELECT party_locator AS party, (after ->> 'phone')::integer AS number, id::float8
        FROM notifications.preference_change WHERE after ->> 'phone' IS NOT NULL`),
      checkpoints: await rows(`SELECT ${PLACE} FROM notifications.projection_checkpoints`),
      setBack: await rows(
        'SELECT topic, partition_id AS partition, was::float8, became::float8 FROM chaos.set_back',
      ),
      beyondCount: await count('chaos.beyond'),
      openRequestCount: await count('notifications.request WHERE ended_at IS NULL'),
    }
  } finally {
    await client.query('ROLLBACK')
  }
}

/**
 * From now on the database itself is a witness, at every COMMIT: of checkpoints that are set back or deleted, and of
 * decisions that are committed beyond the checkpoint of their partition.
 */
export const WITNESS_SQL = `
  CREATE SCHEMA chaos;
  CREATE TABLE chaos.set_back (topic text, partition_id integer, was bigint, became bigint);
  CREATE TABLE chaos.beyond (locator text);

  CREATE FUNCTION chaos.note_set_back() RETURNS trigger LANGUAGE plpgsql AS $$
  BEGIN
    INSERT INTO chaos.set_back VALUES (OLD.topic, OLD.partition_id, OLD."offset", NEW."offset");
    RETURN NULL;
  END $$;
  CREATE TRIGGER note_set_back AFTER UPDATE ON notifications.projection_checkpoints
    FOR EACH ROW WHEN (NEW."offset" < OLD."offset") EXECUTE FUNCTION chaos.note_set_back();
  CREATE TRIGGER note_deleted AFTER DELETE ON notifications.projection_checkpoints
    FOR EACH ROW EXECUTE FUNCTION chaos.note_set_back();

  CREATE FUNCTION chaos.note_beyond() RETURNS trigger LANGUAGE plpgsql AS $$
  BEGIN
    INSERT INTO chaos.beyond SELECT NEW.locator WHERE NOT EXISTS (
      SELECT FROM notifications.projection_checkpoints AS checkpoint
      WHERE (topic, partition_id) = (NEW.topic, NEW.partition_id) AND checkpoint."offset" >= NEW."offset"
    );
    RETURN NULL;
  END $$;
  CREATE CONSTRAINT TRIGGER note_beyond AFTER INSERT ON notifications.decision
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION chaos.note_beyond();`
