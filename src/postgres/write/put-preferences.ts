import { type DatabasePool, sql } from 'slonik'
import type { NewPreferences, StoredPreferences } from '../../core/party/preferences.ts'
import { PREFERENCES_COLUMNS, preferencesRow } from '../read/read-preferences.ts'
import { lockPreferences } from '../sql/advisory-locks.ts'

/**
 * Creates or replaces the preferences of a party and appends the change to their history, in one transaction. Changes of one
 * party take turns, so that each one's `before` is the previous one's `after`.
 *
 * @param changedBy the subject of the token, null if there was none
 * @param isByParty the token is the party's
 */
export function putPreferences(
  pool: DatabasePool,
  partyLocator: string,
  { email, phone, preferredChannel, optedOutEvents }: NewPreferences,
  changedBy: string | null,
  isByParty = false,
): Promise<StoredPreferences> {
  return pool.transaction(async (tx) => {
    await lockPreferences(tx, partyLocator)
    return tx.one(sql.type(preferencesRow)`
      WITH before AS (
        SELECT ${AS_JSON} AS preferences
        FROM notifications.notification_preferences WHERE party_locator = ${partyLocator}
      ), stored AS (
        INSERT INTO notifications.notification_preferences AS stored (
          party_locator, email, phone, preferred_channel, opted_out_events
        )
        VALUES (${partyLocator}, ${email}, ${phone}, ${preferredChannel}, ${JSON.stringify(optedOutEvents)})
        ON CONFLICT (party_locator) DO UPDATE SET
          email = excluded.email,
          phone = excluded.phone,
          preferred_channel = excluded.preferred_channel,
          opted_out_events = excluded.opted_out_events
        RETURNING *
      ), change AS (
        INSERT INTO notifications.preference_change (party_locator, changed_by, by_party, changed_at, before, after)
        -- Not now(), when the transaction began to wait for its turn.
        SELECT party_locator, ${changedBy}, ${isByParty}, clock_timestamp(), (SELECT preferences FROM before), ${AS_JSON}
        FROM stored
      )
      SELECT ${PREFERENCES_COLUMNS} FROM stored`)
  })
}

const AS_JSON = sql.fragment`jsonb_build_object(
  'email', email, 'phone', phone, 'preferredChannel', preferred_channel, 'optedOutEvents', opted_out_events
)`
