import { z } from 'zod'
import { foldEventType, isPattern } from '../event/event-type-pattern.ts'
import { type Channel, KNOWN_CHANNELS } from './channel.ts'

export interface Preferences {
  /** Another version may have stored a channel that this one does not know. */
  readonly preferredChannel: string
  /** As `foldEventType` returns them. */
  readonly optedOutEvents: ReadonlySet<string>
  /** Another version may have stored opt-outs in a form that this one does not know: they may cover any event type. */
  readonly hasUnreadableOptOuts: boolean
  /** Number of the change that set them; null if none was recorded. */
  readonly changeId: string | null
}

/** By party locator; a party without preferences is absent. */
export type PreferencesByParty = ReadonlyMap<string, Preferences>

/** Reads stored opt-outs. `hasUnreadableOptOuts`: they contain more than names of event types. */
export function readOptOuts(stored: unknown): Pick<Preferences, 'optedOutEvents' | 'hasUnreadableOptOuts'> {
  if (!Array.isArray(stored)) return { optedOutEvents: new Set(), hasUnreadableOptOuts: true }
  const names: string[] = stored.filter((optOut) => typeof optOut === 'string' && !isPattern(optOut))
  return {
    optedOutEvents: new Set(names.map(foldEventType)),
    hasUnreadableOptOuts: names.length < stored.length,
  }
}

/** Preferences as stored and shown. Absent addresses are null. */
export const storedPreferences = z.object({
  email: z
    .string()
    .nullable()
    .describe('Stored and returned; messages go to the address that policy administration has'),
  phone: z
    .string()
    .nullable()
    .describe('Stored and returned; messages go to the number that policy administration has'),
  preferredChannel: z.string().describe(`The channel that the party prefers. ${KNOWN_CHANNELS}`),
  optedOutEvents: z
    .array(z.string())
    .describe('Event types for which the party wants no messages; capitals and outer spaces do not matter'),
})
export type StoredPreferences = Readonly<z.infer<typeof storedPreferences>>

/** Preferences to store, with a channel that this version knows. */
export type NewPreferences = StoredPreferences & { readonly preferredChannel: Channel }

export const partyPreferences = storedPreferences.extend({ partyLocator: z.string() })
export type PartyPreferences = Readonly<z.infer<typeof partyPreferences>>

/** A change of preferences. `before` is null if there were none. */
export const preferenceChange = z.object({
  /** ISO 8601. */
  changedAt: z.string(),
  /** Subject of the token; null if there was none. */
  changedBy: z.string().nullable(),
  before: storedPreferences.nullable(),
  after: storedPreferences,
  /** True if another version stored it in a form that this one cannot read. */
  isUnreadable: z.literal(true).optional(),
})
export type PreferenceChange = Readonly<z.infer<typeof preferenceChange>>

/** Current preferences (null: none) and their changes, newest first. */
export const preferenceHistory = z.object({
  preferences: storedPreferences.nullable(),
  /** Opted-out event types without a template, rule or logged event: possible misspellings. */
  unknownEventTypes: z.array(z.string()),
  changes: z.array(preferenceChange),
  /** True if there are older changes. */
  isMore: z.boolean(),
})
export type PreferenceHistory = Readonly<z.infer<typeof preferenceHistory>>
