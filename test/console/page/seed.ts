import { until } from '../../stack/until.ts'
import { anEvent, type World } from '../../stack/world.ts'

/** Hostile texts of members or producers: markup, a script, reversed text. */
export const HOSTILE = {
  eventType: '<img src=x onerror="window.attacked=1">',
  partyLocator: 'party-\u202Egpj.<script>window.attacked=2</script>',
  reason: '"><svg onload=window.attacked=3><iframe srcdoc="<script>parent.attacked=4</script>">',
  value: '{"eventId": "<script>window.attacked=5</script>\u202E"',
}

/** Everything that can become of an event, messages that are none, and changes of preferences. */
export async function seed(world: World, url: string, authorization: string): Promise<void> {
  const prefer = (preferences: object) =>
    until(
      async () => {
        const headers = { 'content-type': 'application/json', authorization }
        const body = JSON.stringify(preferences)
        return (await fetch(`${url}/preferences/party-7`, { method: 'PUT', headers, body })).ok
      },
      { what: 'the service to take preferences' },
    )
  await prefer({ preferredChannel: 'SMS' })
  await prefer({ preferredChannel: 'EMAIL', optedOutEvents: ['claim.paid'], phone: '+41 44 000 00 00' })
  const { eventType, partyLocator, reason, value } = HOSTILE
  await world.publish([
    ...Array.from({ length: 60 }, (_, i) =>
      anEvent({ eventType: TYPES[i % TYPES.length], partyLocator: `party-${i % 7}` }),
    ),
    anEvent({ eventId: 'opted-out', partyLocator: 'party-7' }),
    anEvent({ eventId: 'no-email', partyLocator: 'no-email-1', eventType: 'invoice.overdue' }),
    anEvent({ eventId: 'unknown', partyLocator: 'unknown-1', eventType: 'policy.issued' }),
    anEvent({ eventId: 'given-up', partyLocator: 'error-1', eventType: 'claim.approved' }),
    anEvent({ eventId: 'hostile-1', eventType, partyLocator }),
    anEvent({
      eventId: 'hostile-2',
      eventType: 'claim.rejected',
      partyLocator: 'party-8',
      payload: { locator: '<b>CLM</b>', reason },
    }),
    { value },
    { value: 'no JSON at all' },
  ])
  await world.caughtUp()
  // Older than it is retried for.
  await world.sql(`
    UPDATE notifications.notification_log SET created_at = created_at - interval '2 days' WHERE event_id = 'given-up'`)
  // Over the last hours, not all at once.
  await world.sql(`
    UPDATE notifications.notification_log SET created_at = created_at - length(event_id || locator) * (get_byte(sha256(event_id::bytea), 0) % 24) * interval '1 minute'
    WHERE event_id LIKE 'event-%'`)
}

const TYPES = [
  'claim.paid',
  'claim.submitted',
  'invoice.paid',
  'claim.paid',
  'policy.renewed',
  'payment.received',
]
