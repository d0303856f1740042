import { type DatabasePool, sql } from 'slonik'
import { z } from 'zod'
import { lockPreferences } from '../../service/store/sql/advisory-locks.ts'
import { noRow } from '../../service/store/sql/columns.ts'
import type { ErasureCounts } from './erasure-record.ts'

const HAS_CONTACT = sql.fragment`(email IS NOT NULL OR phone IS NOT NULL)`
const CHANGE_HAS_CONTACT = sql.fragment`
  (coalesce(before ->> 'email', before ->> 'phone', after ->> 'email', after ->> 'phone') IS NOT NULL)`
/** True if the person made the change: with a token for this party, or one whose subject is its locator. */
const BY_PERSON = sql.fragment`(changed_by <> 'erased' AND (by_party IS TRUE OR changed_by = party_locator))`
const CHANGE_IS_PERSONAL = sql.fragment`(${CHANGE_HAS_CONTACT} OR ${BY_PERSON} IS TRUE)`
/** True for changes of other parties' preferences, on whose behalf the person may have acted. */
function isOfAnother(partyLocator: string) {
  return sql.fragment`(changed_by = ${partyLocator} AND party_locator <> ${partyLocator})`
}

const NO_CONTACT = '{"email": null, "phone": null}'

/** Counts a party's preferences (at most one), changes that contain its contact details, and changes that name it as their author. */
export function countPreferencesToErase(
  pool: DatabasePool,
  partyLocator: string,
): Promise<Pick<ErasureCounts, 'preferences' | 'preferenceChanges'>> {
  return pool.one(sql.type(z.object({ preferences: z.number(), preferenceChanges: z.number() }))`
    SELECT
      (SELECT count(*)::integer FROM notifications.notification_preferences
        WHERE party_locator = ${partyLocator} AND ${HAS_CONTACT}) AS preferences,
      (SELECT count(*)::integer FROM notifications.preference_change
        WHERE (party_locator = ${partyLocator} AND ${CHANGE_IS_PERSONAL}) OR ${isOfAnother(partyLocator)}) AS "preferenceChanges"`)
}

/**
 * Blanks the contact details in a party's preferences and their history, and the author of changes made by the person, even to
 * other parties' preferences. Opt-outs stay.
 */
export function erasePreferences(
  pool: DatabasePool,
  erasure: bigint,
  partyLocator: string,
): Promise<Pick<ErasureCounts, 'preferences' | 'preferenceChanges'>> {
  return pool.transaction(async (tx) => {
    // Reads all changes before it takes the lock, for which the person's opt-outs wait.
    const ofOthers = await tx.any(sql.type(noRow)`
      UPDATE notifications.preference_change SET changed_by = 'erased'
      WHERE ${isOfAnother(partyLocator)} RETURNING id`)
    await lockPreferences(tx, partyLocator)
    const preferences = await tx.any(sql.type(noRow)`
      UPDATE notifications.notification_preferences SET email = NULL, phone = NULL
      WHERE party_locator = ${partyLocator} AND ${HAS_CONTACT} RETURNING party_locator`)
    const changes = await tx.any(sql.type(noRow)`
      UPDATE notifications.preference_change
      SET before = before || ${NO_CONTACT}::jsonb, after = after || ${NO_CONTACT}::jsonb,
        changed_by = CASE WHEN ${BY_PERSON} THEN 'erased' ELSE changed_by END
      WHERE party_locator = ${partyLocator} AND ${CHANGE_IS_PERSONAL} RETURNING id`)
    const counts = { preferences: preferences.length, preferenceChanges: changes.length + ofOthers.length }
    await tx.query(sql.unsafe`
      UPDATE notifications.erasure
      SET preferences = preferences + ${counts.preferences},
        preference_changes = preference_changes + ${counts.preferenceChanges}
      WHERE id = ${erasure}`)
    return counts
  })
}
