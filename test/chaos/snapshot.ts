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
  /** Rows that were pruned, each with all checkpoints of that time, by `topic/partition`. */
  readonly gone: readonly GoneRow[]
  /** The places of rejected messages that were pruned. */
  readonly goneRejected: readonly Place[]
  /** The ids of events that the database accepts by now. */
  readonly mended: readonly string[]
  /** Results of redrives and dismissals; the place is that of the message, unless it was pruned. */
  readonly redrives: readonly RedriveRow[]
  /** Rejected messages that a finished redrive named. */
  readonly redriven: readonly number[]
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

type GoneRow = Texts<'locator' | 'event_id' | 'status' | 'channel'> & {
  readonly is_old: boolean
  readonly checkpoints: Readonly<Record<string, number>>
}

type RedriveRow = Texts<'result'> & Nullable<'locator'> & { readonly message: number }

type RejectedRow = Place &
  Texts<'code'> & { readonly id: number } & Readonly<Record<'key' | 'value', Buffer | null>> & {
    readonly is_erased: boolean
  }

/** Rows that are aged to be pruned keep their true time here. */
const DECIDED_AT = `decided_at + CASE WHEN decided_at < now() - interval '1 day' THEN interval '2 days' ELSE interval '0' END`
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
          request_id::float8, erased_at IS NOT NULL AS is_erased, variables IS NOT NULL AS has_variables, extract(epoch FROM ${DECIDED_AT})::float8 * 1000 AS decided_ms, ${PLACE}
        FROM notifications.decision ORDER BY attempt`),
      rejected: await rows(`SELECT id::float8, ${PLACE}, key, value, code, erased_at IS NOT NULL AS is_erased
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
      gone: await rows('SELECT locator, event_id, status, channel, is_old, checkpoints FROM chaos.gone'),
      goneRejected: await rows(`SELECT ${PLACE} FROM chaos.gone_rejected`),
      mended: (await rows<{ event_id: string }>('SELECT event_id FROM chaos.mended')).map(
        (row) => row.event_id,
      ),
      redrives: await rows(
        'SELECT rejected_message_id::float8 AS message, result, locator FROM notifications.redrive ORDER BY id',
      ),
      redriven: (
        await rows<{ id: number }>(`
          SELECT jsonb_array_elements_text(target -> 'ids')::float8 AS id FROM notifications.request
          WHERE kind = 'redrive' AND state = 'done'`)
      ).map(({ id }) => id),
    }
  } finally {
    await client.query('ROLLBACK')
  }
}

/**
 * From now on the database itself is a witness, at every COMMIT: of checkpoints that are set back or deleted, of decisions that are
 * committed beyond the checkpoint of their partition, and of what is pruned.
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
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION chaos.note_beyond();

  CREATE TABLE chaos.gone (locator text, event_id text, status text, channel text, is_old boolean, checkpoints jsonb);
  CREATE TABLE chaos.gone_rejected (topic text, partition_id integer, "offset" bigint);
  CREATE FUNCTION chaos.note_gone() RETURNS trigger LANGUAGE plpgsql AS $$
  BEGIN
    INSERT INTO chaos.gone
    SELECT OLD.locator, OLD.event_id, OLD.status, OLD.channel, OLD.created_at < now() - interval '1 day',
      jsonb_object_agg(topic || '/' || partition_id, "offset")
    FROM notifications.projection_checkpoints;
    RETURN NULL;
  END $$;
  CREATE TRIGGER note_gone AFTER DELETE ON notifications.notification_log
    FOR EACH ROW EXECUTE FUNCTION chaos.note_gone();
  CREATE FUNCTION chaos.note_gone_rejected() RETURNS trigger LANGUAGE plpgsql AS $$
  BEGIN
    INSERT INTO chaos.gone_rejected VALUES (OLD.topic, OLD.partition_id, OLD."offset");
    RETURN NULL;
  END $$;
  CREATE TRIGGER note_gone AFTER DELETE ON notifications.rejected_message
    FOR EACH ROW EXECUTE FUNCTION chaos.note_gone_rejected();`
