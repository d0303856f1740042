import { type CommonQueryMethods, sql } from 'slonik'
import {
  type PreferencesPage,
  type PreferencesPageRequest,
  partyPreferences,
} from '../../core/party/preferences.ts'
import { PREFERENCES_COLUMNS, preferencesRow } from './preferences-row.ts'

/** One page of all preferences, by party locator: when they were first stored is not known. */
export async function listPreferences(
  pool: CommonQueryMethods,
  { limit, after }: PreferencesPageRequest,
): Promise<PreferencesPage> {
  const where = after === null ? sql.fragment`` : sql.fragment`WHERE party_locator > ${after}`
  const rows = await pool.any(sql.type(partyPreferences.extend(preferencesRow.shape))`
    SELECT party_locator AS "partyLocator", ${PREFERENCES_COLUMNS} FROM notifications.notification_preferences ${where}
    ORDER BY party_locator LIMIT ${limit + 1}`)
  const items = rows.slice(0, limit)
  return { items, next: rows.length > limit ? (items.at(-1)?.partyLocator ?? null) : null }
}
