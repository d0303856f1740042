import type { Facts } from '../../../src/core/decision/facts.ts'
import type { TriedEvent } from '../../../src/core/rules/try-event.ts'

/** What policy administration and the party's preferences would have to be for these facts. */
export function factual({ eventType, ...facts }: Facts): TriedEvent {
  const isMissing = facts.party === 'missing'
  const contact =
    facts.party === 'found'
      ? {
          state: facts.party,
          email: facts.emailOnFile ? 'a@b' : null,
          phone: facts.phoneOnFile ? '+44' : null,
        }
      : facts.party === 'unresolved'
        ? { state: facts.party, error: 'it was down', unasked: false }
        : facts.party === 'not found'
          ? { state: facts.party }
          : undefined
  return {
    event: { eventType, locator: 'CLM-1', reason: null },
    recipient: { partyLocator: isMissing ? null : 'party-1', invalid: false },
    contact,
    preferences: isMissing
      ? undefined
      : {
          preferredChannel: facts.preferredChannel,
          optedOutEvents: new Set(facts.optedOut ? [eventType] : []),
          changeId: null,
        },
  }
}
