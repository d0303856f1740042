import type { Channel } from '../../../src/core/decision/channel.ts'

/** Locators of parties; what policy administration says of one follows from the beginning of its name. */
const numbered = (prefix: string, count: number) =>
  Array.from({ length: count }, (_, i) => `${prefix}-${String(i + 1).padStart(4, '0')}`)

const REACHABLE = numbered('party', 40)

/** Whom the events are about: most are reached in some way, a few are not. Null: nobody is named. */
export const PARTIES: readonly (string | null)[] = [
  ...REACHABLE,
  ...numbered('no-email', 2),
  ...numbered('no-phone', 2),
  ...numbered('unknown', 2),
  'error-0001',
  null,
]

interface PartyPreferences {
  partyLocator: string
  preferredChannel: Channel
  optedOutEvents: string[]
}

/** Everybody else has none: they are written to by email, of everything. */
export const PREFERENCES: readonly PartyPreferences[] = [
  ...REACHABLE.slice(0, 10).map((partyLocator) => prefer(partyLocator, 'SMS')),
  ...REACHABLE.slice(10, 18).map((partyLocator) => prefer(partyLocator, 'IN_APP')),
  ...REACHABLE.slice(18, 27).map((partyLocator) =>
    prefer(partyLocator, 'EMAIL', [
      'invoice.finalised',
      'invoice.paid',
      'payment.received',
      'policy.endorsed',
    ]),
  ),
  ...numbered('no-phone', 2).map((partyLocator) => prefer(partyLocator, 'SMS')),
]

function prefer(
  partyLocator: string,
  preferredChannel: Channel,
  optedOutEvents: string[] = [],
): PartyPreferences {
  return { partyLocator, preferredChannel, optedOutEvents }
}
