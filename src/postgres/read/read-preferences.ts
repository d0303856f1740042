import { type CommonQueryMethods, sql } from 'slonik'
import { z } from 'zod'
import { CHANNELS } from '../../core/decision/channel.ts'
import type { PreferencesByParty } from '../../core/party/preferences.ts'
import { arrayOf } from '../sql/columns.ts'

const found = z.object({
  preferences: z.array(
    z.object({
      partyLocator: z.string(),
      preferredChannel: z.enum(CHANNELS),
      optedOutEvents: z.array(z.unknown()),
      changeId: z.string().nullable(),
    }),
  ),
})

/**
 * Preferences of parties, read in one statement without locks. Read them in the transaction that writes the decisions: a
 * decision's time is the start of its transaction, and each statement sees everything committed before it. So a decision made
 * after a PUT was answered sees that PUT or a newer one.
 */
export async function readPreferences(
  tx: CommonQueryMethods,
  partyLocators: readonly string[],
): Promise<PreferencesByParty> {
  if (partyLocators.length === 0) return new Map()
  const { preferences } = await tx.one(sql.prepared('read-preferences', found)`
    SELECT coalesce(json_agg(json_build_object(
      'partyLocator', party_locator, 'preferredChannel', preferred_channel, 'optedOutEvents', opted_out_events,
      'changeId', (
        SELECT max(id)::text FROM notifications.preference_change
        WHERE preference_change.party_locator = notification_preferences.party_locator
      )
    )), '[]') AS preferences
    FROM notifications.notification_preferences
    WHERE party_locator = ANY(${arrayOf('text', partyLocators)})`)
  return new Map(
    preferences.map(({ partyLocator, optedOutEvents, ...rest }) => [
      partyLocator,
      { ...rest, optedOutEvents: new Set(optedOutEvents.filter((type) => typeof type === 'string')) },
    ]),
  )
}
