import type { PreferencesByParty } from '../party/preferences.ts'
import type { DecidedBatch, PreparedBatch } from './batch.ts'

/** Decides a batch, once the preferences of its parties are known. */
export function decideBatch(
  { partyLocators: _, decide, ...rest }: PreparedBatch,
  preferences: PreferencesByParty,
): DecidedBatch {
  return { ...rest, entries: decide(preferences) }
}
