import type { Client } from 'pg'
import { CHANNELS } from '../../src/service/decide/party/channel.ts'
import type { Random } from '../stack/random.ts'

export const PARTY_COUNT = 100_000
const WITH_PREFERENCES_ONE_IN = 10
const PHONE = '+44 20 7946 0000'

/** A random party; all are equally likely. */
export function partyLocatorOf(random: Random): string {
  return locatorOf(random.below(PARTY_COUNT))
}

/** One in 100 parties is unknown, two have no email and one has no phone; the prefix tells `contactOf`. */
function locatorOf(number: number): string {
  const prefix = ['unknown', 'no-email', 'no-email', 'no-phone'][number % 100] ?? 'party'
  return `${prefix}-${number.toString().padStart(6, '0')}`
}

/** The contact that policy administration has of a party; null if it is unknown. */
export function contactOf(locator: string): { email: string | null; phone: string | null } | null {
  if (locator.startsWith('unknown-')) return null
  return {
    email: locator.startsWith('no-email-') ? null : `${locator}@example.com`,
    phone: locator.startsWith('no-phone-') ? null : PHONE,
  }
}

/** Gives every tenth party preferences: all channels alike, and every second of them opts out of two event types. */
export async function insertPreferences(client: Client): Promise<void> {
  const parties = Array.from({ length: PARTY_COUNT / WITH_PREFERENCES_ONE_IN }, (_, i) => ({
    // Not the first of each ten, which would have only a few kinds of contacts.
    party_locator: locatorOf(i * WITH_PREFERENCES_ONE_IN + (Math.floor(i / 10) % WITH_PREFERENCES_ONE_IN)),
    preferred_channel: CHANNELS[i % CHANNELS.length],
    opted_out_events: Math.floor(i / CHANNELS.length) % 2 === 0 ? [] : ['invoice.paid', 'claim.submitted'],
  }))
  await client.query(
    `INSERT INTO notifications.notification_preferences (party_locator, preferred_channel, opted_out_events)
     SELECT party_locator, preferred_channel, opted_out_events
     FROM jsonb_to_recordset($1) AS (party_locator text, preferred_channel text, opted_out_events jsonb)
     ON CONFLICT (party_locator) DO NOTHING`,
    [JSON.stringify(parties)],
  )
  await client.query('ANALYZE notifications.notification_preferences')
}
