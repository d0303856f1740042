import { z } from 'zod'
import { CHANNELS } from './channel.ts'
import { PARTY_STATES } from './party-state.ts'

/**
 * All that a rule may look at. No contact data, only whether there is some, so that facts can be stored.
 * `onFile` values are null (unknown) unless the party is found; a missing party has no preferences,
 * that is `optedOut: false` and the default channel.
 */
export const facts = z.object({
  eventType: z.string(),
  party: z.enum(PARTY_STATES),
  optedOut: z.boolean(),
  preferredChannel: z.enum(CHANNELS),
  emailOnFile: z.boolean().nullable(),
  phoneOnFile: z.boolean().nullable(),
})
export type Facts = Readonly<z.infer<typeof facts>>
