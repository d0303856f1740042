import { setTimeout as sleep } from 'node:timers/promises'
import { type CommonQueryMethods, ConnectionError, type DatabasePool, sql } from 'slonik'
import type { NewPreferences, StoredPreferences } from '../../decide/party/preferences.ts'
import { PREFERENCES_COLUMNS, preferencesRow } from '../read/read-preferences.ts'
import { tryLockPreferences } from '../sql/advisory-locks.ts'

/** As long as a statement may wait for a lock. */
const LOCK_WAIT_MAX_MS = 5_000
const LOCK_PAUSE_MS = 20

/** @internal Far above what people change in a day, and far below what a looping program could store for good. */
export const CHANGES_BYTES_MAX = 1_000_000
/**
 * Preferences up to this length are accepted until ten times as much is stored, so that a looping program cannot keep a member from
 * opting out.
 */
const SHORT_LENGTH_MAX = 2_000
/** Ids begin with the second, see 0015_ids.sql. */
const IDS_PER_S = 4_194_304
const DAY_S = 86_400

/**
 * Creates or replaces the preferences of a party and appends the change to their history, in one transaction; equal ones are no
 * change. Resolves to null, and changes nothing, if the changes of the last day take `CHANGES_BYTES_MAX`, or ten times that for
 * short ones. Changes of one party take turns, so that each one's `before` is the previous one's `after`. A waiting change uses no
 * connection, so that a party locked by another process does not delay the others.
 *
 * @param changedBy the subject of the token, null if there was none
 * @param isByParty the token is the party's
 */
export async function putPreferences(
  pool: DatabasePool,
  partyLocator: string,
  preferences: NewPreferences,
  changedBy: string | null,
  isByParty = false,
): Promise<StoredPreferences | null> {
  const startedMs = performance.now()
  for (;;) {
    const result = await pool.transaction(async (tx) =>
      (await tryLockPreferences(tx, partyLocator))
        ? { stored: await replacePreferences(tx, partyLocator, preferences, changedBy, isByParty) }
        : null,
    )
    if (result !== null) return result.stored
    if (performance.now() - startedMs > LOCK_WAIT_MAX_MS)
      throw new ConnectionError(
        `another session locks a party's preferences for ${LOCK_WAIT_MAX_MS / 1_000} s`,
      )
    await sleep(LOCK_PAUSE_MS)
  }
}

function replacePreferences(
  tx: CommonQueryMethods,
  partyLocator: string,
  preferences: NewPreferences,
  changedBy: string | null,
  isByParty: boolean,
): Promise<StoredPreferences | null> {
  const { email, phone, preferredChannel, optedOutEvents } = preferences
  const wanted = JSON.stringify({ email, phone, preferredChannel, optedOutEvents })
  const bytesMax = wanted.length <= SHORT_LENGTH_MAX ? 10 * CHANGES_BYTES_MAX : CHANGES_BYTES_MAX
  return tx.maybeOne(sql.type(preferencesRow)`
      WITH before AS (
        SELECT *, ${AS_JSON} AS preferences
        FROM notifications.notification_preferences WHERE party_locator = ${partyLocator}
      ), stored AS (
        INSERT INTO notifications.notification_preferences AS stored (
          party_locator, email, phone, preferred_channel, opted_out_events
        )
        SELECT ${partyLocator}, ${email}, ${phone}, ${preferredChannel}, ${JSON.stringify(optedOutEvents)}::jsonb
        WHERE (SELECT preferences FROM before) IS DISTINCT FROM ${wanted}::jsonb
          AND ${recentBytes(partyLocator)} < ${bytesMax}
        ON CONFLICT (party_locator) DO UPDATE SET
          email = excluded.email,
          phone = excluded.phone,
          preferred_channel = excluded.preferred_channel,
          opted_out_events = excluded.opted_out_events
        RETURNING *
      ), change AS (
        INSERT INTO notifications.preference_change (id, party_locator, changed_by, by_party, changed_at, before, after)
        -- Not now(), when the transaction began to wait for its turn.
        SELECT ${nextChangeId(partyLocator)}, party_locator, ${changedBy}, ${isByParty}, clock_timestamp(), (SELECT preferences FROM before), ${AS_JSON}
        FROM stored
      )
      SELECT ${PREFERENCES_COLUMNS} FROM stored
      UNION ALL SELECT ${PREFERENCES_COLUMNS} FROM before WHERE preferences = ${wanted}::jsonb`)
}

/** As stored, compressed. */
function recentBytes(partyLocator: string) {
  return sql.fragment`(
    SELECT coalesce(sum(pg_column_size(before) + pg_column_size(after)), 0) FROM notifications.preference_change
    WHERE party_locator = ${partyLocator} AND id > (SELECT notifications.next_id() - ${DAY_S * IDS_PER_S}::bigint)
  )`
}

/**
 * Above all earlier ids of the party, even if the clock was set back, since dispatch notices a change by its id. One second later
 * with the same counter (see 0015_ids.sql), since the next number may belong to another party.
 */
function nextChangeId(partyLocator: string) {
  return sql.fragment`(
    SELECT CASE WHEN last IS NULL OR id > last THEN id ELSE last + ${IDS_PER_S} END
    FROM (SELECT notifications.next_id() AS id, (
      SELECT max(id) FROM notifications.preference_change WHERE party_locator = ${partyLocator}
    ) AS last) AS next
  )`
}

const AS_JSON = sql.fragment`jsonb_build_object(
  'email', email, 'phone', phone, 'preferredChannel', preferred_channel, 'optedOutEvents', opted_out_events
)`
