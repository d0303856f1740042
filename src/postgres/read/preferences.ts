import { type CommonQueryMethods, type DatabasePool, sql } from 'slonik'
import { z } from 'zod'
import {
  type PreferenceChange,
  type PreferencesPage,
  type PreferencesPageRequest,
  partyPreferences,
  preferenceChange,
  type StoredPreferences,
  storedPreferences,
} from '../../core/party/preferences.ts'

/** Preferences as read, from the history too. */
export const preferencesRow = storedPreferences.extend({
  // Other values in the list are not ours, and opt out of nothing.
  optedOutEvents: z.array(z.unknown()).transform((types) => types.filter((type) => typeof type === 'string')),
})

export const PREFERENCES_COLUMNS = sql.fragment`
  email, phone, preferred_channel AS "preferredChannel", opted_out_events AS "optedOutEvents"`

/** One page of all preferences, by party locator, since their creation time is unknown. */
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

export function getPreferences(pool: DatabasePool, partyLocator: string): Promise<StoredPreferences | null> {
  return pool.maybeOne(sql.type(preferencesRow)`
    SELECT ${PREFERENCES_COLUMNS} FROM notifications.notification_preferences WHERE party_locator = ${partyLocator}`)
}

const changeRow = preferenceChange.extend({ before: preferencesRow.nullable(), after: preferencesRow })

export function listPreferenceChanges(
  pool: DatabasePool,
  partyLocator: string,
  countMax: number,
): Promise<readonly PreferenceChange[]> {
  return pool.any(sql.type(changeRow)`
    SELECT changed_at AS "changedAt", changed_by AS "changedBy", before, after
    FROM notifications.preference_change WHERE party_locator = ${partyLocator} ORDER BY id DESC LIMIT ${countMax}`)
}
