import { z } from 'zod'
import { CHANNELS } from '../decision/channel.ts'
import { PARTY_STATES } from '../decision/party-state.ts'
import type { Contact } from '../party/contact.ts'
import { type TriedEvent, triedDecision } from '../rules/try-event.ts'

const TEXT_LENGTH_MAX = 1_000

/** An event of a party as somebody imagines it. */
export const trial = z.strictObject({
  eventType: z.string().min(1, 'must not be blank').max(255),
  locator: z.string().max(TEXT_LENGTH_MAX),
  /** Null: the event gives none. */
  reason: z.string().max(TEXT_LENGTH_MAX).nullable(),
  party: z.enum(PARTY_STATES),
  preferredChannel: z.enum(CHANNELS),
  optedOut: z.boolean(),
  emailOnFile: z.boolean(),
  phoneOnFile: z.boolean(),
})
export type Trial = Readonly<z.infer<typeof trial>>

/** What `rules try` says of it. */
export const trialResult = triedDecision.omit({ reason: true })
export type TrialResult = Readonly<z.infer<typeof trialResult>>

export function eventOfTrial(trial: Trial): TriedEvent {
  const { eventType, locator, reason, party, preferredChannel, optedOut } = trial
  const isMissing = party === 'missing'
  return {
    event: { eventType, locator, reason },
    recipient: { partyLocator: isMissing ? null : 'party', invalid: false },
    contact: contactOf(trial),
    preferences: isMissing
      ? undefined
      : { preferredChannel, optedOutEvents: new Set(optedOut ? [eventType] : []), changeId: null },
  }
}

function contactOf({ party, emailOnFile, phoneOnFile }: Trial): Contact | undefined {
  switch (party) {
    case 'found':
      return {
        state: party,
        email: emailOnFile ? 'on file' : null,
        phone: phoneOnFile ? 'on file' : null,
      }
    case 'unresolved':
      return { state: party, error: 'policy administration could not be asked', unasked: true }
    case 'not found':
      return { state: party }
    case 'missing':
      return undefined
    default:
      return party satisfies never
  }
}
