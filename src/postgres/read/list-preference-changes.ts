import { type DatabasePool, sql } from 'slonik'
import { type PreferenceChange, preferenceChange } from '../../core/party/preferences.ts'
import { preferencesRow } from './preferences-row.ts'

const changeRow = preferenceChange.extend({ before: preferencesRow.nullable(), after: preferencesRow })

/** The newest changes of a party's preferences, newest first. */
export function listPreferenceChanges(
  pool: DatabasePool,
  partyLocator: string,
  countMax: number,
): Promise<readonly PreferenceChange[]> {
  return pool.any(sql.type(changeRow)`
    SELECT changed_at AS "changedAt", changed_by AS "changedBy", before, after
    FROM notifications.preference_change WHERE party_locator = ${partyLocator} ORDER BY id DESC LIMIT ${countMax}`)
}
