import { type CommonQueryMethods, type DatabasePool, sql } from 'slonik'
import { z } from 'zod'
import {
  type PartyPreferences,
  type PreferenceChange,
  type PreferencesByParty,
  partyPreferences,
  preferenceChange,
  readOptOuts,
  type StoredPreferences,
  storedPreferences,
} from '../../decide/party/preferences.ts'
import type { ListPage, PageRequest } from '../../model/log/log-page.ts'
import { sqlArray } from '../sql/columns.ts'
import { jsonBytes, withinBytes } from '../sql/page-bytes.ts'

/** Values other than text come from another version and are not shown. */
const optedOutEvents = z
  .unknown()
  .transform((stored) => (Array.isArray(stored) ? stored.filter((type) => typeof type === 'string') : []))

/** Preferences as read. */
export const preferencesRow = storedPreferences.extend({ optedOutEvents })

export const PREFERENCES_COLUMNS = sql.fragment`
  email, phone, preferred_channel AS "preferredChannel", opted_out_events AS "optedOutEvents"`

const listedRow = partyPreferences.extend({ ...preferencesRow.shape, found: z.int() })

/** One page of all preferences, by party locator, since their creation time is unknown: `PAGE_BYTES_MAX` at most. */
export async function listPreferences(
  pool: CommonQueryMethods,
  { limit, after }: PageRequest<string>,
): Promise<ListPage<PartyPreferences, string>> {
  const where = after === null ? sql.fragment`` : sql.fragment`WHERE party_locator > ${after}`
  const found = sql.fragment`
    SELECT * FROM notifications.notification_preferences ${where} ORDER BY party_locator LIMIT ${limit + 1}`
  const rows = await pool.any(sql.type(listedRow)`
    SELECT party_locator AS "partyLocator", ${PREFERENCES_COLUMNS}, found
    FROM (${withinBytes(found, sql.fragment`party_locator`, jsonBytes(sql.fragment`opted_out_events`))}) AS listed
    ORDER BY party_locator`)
  const items = rows.slice(0, limit).map(({ found: _, ...preferences }) => preferences)
  const isMore = items.length < (rows[0]?.found ?? 0)
  return { items, next: isMore ? (items.at(-1)?.partyLocator ?? null) : null }
}

export function getPreferences(pool: DatabasePool, partyLocator: string): Promise<StoredPreferences | null> {
  return pool.maybeOne(sql.type(preferencesRow)`
    SELECT ${PREFERENCES_COLUMNS} FROM notifications.notification_preferences WHERE party_locator = ${partyLocator}`)
}

const UNREADABLE: StoredPreferences = {
  email: null,
  phone: null,
  preferredChannel: 'unknown',
  optedOutEvents: [],
}
/** The history has no constraints. A change in another form hides no other change. */
const changedPreferences = storedPreferences.catch(UNREADABLE)

const changeRow = preferenceChange.extend({
  before: changedPreferences.nullable(),
  after: changedPreferences,
  found: z.int(),
  id: z.bigint(),
})

/** One page of the changes of a party's preferences before an id, newest first: `PAGE_BYTES_MAX` at most. */
export async function listPreferenceChanges(
  pool: DatabasePool,
  partyLocator: string,
  { limit, after }: PageRequest<bigint>,
): Promise<ListPage<PreferenceChange, bigint>> {
  const older = after === null ? sql.fragment`` : sql.fragment`AND id < ${after}`
  const found = sql.fragment`
    SELECT * FROM notifications.preference_change WHERE party_locator = ${partyLocator} ${older}
    ORDER BY id DESC LIMIT ${limit + 1}`
  const bytes = jsonBytes(sql.fragment`before`, sql.fragment`after`)
  const rows = await pool.any(sql.type(changeRow)`
    SELECT id, changed_at AS "changedAt", changed_by AS "changedBy", before, after, found
    FROM (${withinBytes(found, sql.fragment`id DESC`, bytes)}) AS preference_change
    ORDER BY id DESC`)
  const shown = rows.slice(0, limit)
  const isMore = shown.length < (rows[0]?.found ?? 0)
  return {
    items: shown.map(({ found: _, id: __, ...change }) =>
      [change.before, change.after].includes(UNREADABLE) ? { ...change, isUnreadable: true } : change,
    ),
    next: isMore ? (shown.at(-1)?.id ?? null) : null,
  }
}

const decisivePreferences = z
  .array(
    z.object({
      partyLocator: z.string(),
      preferredChannel: z.string(),
      optOuts: z.unknown().transform(readOptOuts),
      changeId: z.string().nullable(),
    }),
  )
  .transform(
    (preferences): PreferencesByParty =>
      new Map(
        preferences.map(({ partyLocator, optOuts, ...rest }) => [partyLocator, { ...rest, ...optOuts }]),
      ),
  )
/** A row with the preferences that `selectPreferences` selects. */
export const preferencesByParty = z.object({ preferences: decisivePreferences })

/** Subquery for the preferences of parties. */
export function selectPreferences(partyLocators: readonly string[]) {
  return sql.fragment`(
    SELECT coalesce(json_agg(json_build_object(
      'partyLocator', party_locator, 'preferredChannel', preferred_channel, 'optOuts', opted_out_events,
      'changeId', (
        SELECT max(id)::text FROM notifications.preference_change
        WHERE preference_change.party_locator = notification_preferences.party_locator
      )
    )), '[]')
    FROM notifications.notification_preferences
    WHERE party_locator = ANY(${sqlArray('text', partyLocators)})
  ) AS preferences`
}

/**
 * Preferences of parties, read in one statement without locks. Read them in the transaction that writes the decisions: each of its
 * statements sees everything committed before it. So a decision made after a PUT was answered sees that PUT or a newer one.
 */
export async function readPreferences(
  tx: CommonQueryMethods,
  partyLocators: readonly string[],
): Promise<PreferencesByParty> {
  if (partyLocators.length === 0) return new Map()
  const { preferences } = await tx.one(
    sql.prepared('read-preferences', preferencesByParty)`SELECT ${selectPreferences(partyLocators)}`,
  )
  return preferences
}
