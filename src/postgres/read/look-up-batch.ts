import { type DatabasePool, sql } from 'slonik'
import { z } from 'zod'
import { CHANNELS } from '../../core/decision/channel.ts'
import type { Preferences } from '../../core/party/preferences.ts'
import { arrayOf } from '../sql/columns.ts'

export interface LookedUp {
  /** Those of the event ids that have a log row already. */
  readonly logged: ReadonlySet<string>
  /** By party locator; a party without preferences is absent. */
  readonly preferences: ReadonlyMap<string, Preferences>
}

const lookedUp = z.object({
  logged: z.array(z.string()),
  preferences: z.array(
    z.object({
      party_locator: z.string(),
      preferred_channel: z.enum(CHANNELS),
      opted_out_events: z.array(z.unknown()),
      change_id: z.string().nullable(),
    }),
  ),
})

/** What the database knows of a batch of events and of their parties, in one statement. */
export async function lookUp(
  pool: DatabasePool,
  eventIds: readonly string[],
  partyLocators: readonly string[],
): Promise<LookedUp> {
  const row = await pool.one(sql.prepared('look-up', lookedUp)`
    SELECT
      ARRAY(
        SELECT event_id FROM notifications.notification_log
        WHERE event_id = ANY(${arrayOf('text', eventIds)})
      ) AS logged,
      coalesce((
        SELECT json_agg(json_build_object(
          'party_locator', party_locator,
          'preferred_channel', preferred_channel,
          'opted_out_events', opted_out_events,
          'change_id', (
            SELECT max(id)::text FROM notifications.preference_change
            WHERE preference_change.party_locator = notification_preferences.party_locator
          )
        ))
        FROM notifications.notification_preferences
        WHERE party_locator = ANY(${arrayOf('text', partyLocators)})
      ), '[]') AS preferences`)
  return {
    logged: new Set(row.logged),
    preferences: new Map(
      row.preferences.map((party) => [
        party.party_locator,
        {
          preferredChannel: party.preferred_channel,
          optedOutEvents: new Set(party.opted_out_events.filter((type) => typeof type === 'string')),
          changeId: party.change_id,
        },
      ]),
    ),
  }
}
