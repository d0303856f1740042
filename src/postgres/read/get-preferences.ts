import { type DatabasePool, sql } from 'slonik'
import type { StoredPreferences } from '../../core/party/preferences.ts'
import { PREFERENCES_COLUMNS, preferencesRow } from './preferences-row.ts'

/** The preferences of a party, or null. */
export function getPreferences(pool: DatabasePool, partyLocator: string): Promise<StoredPreferences | null> {
  return pool.maybeOne(sql.type(preferencesRow)`
    SELECT ${PREFERENCES_COLUMNS} FROM notifications.notification_preferences WHERE party_locator = ${partyLocator}`)
}
