import type { Channel } from '../decision/channel.ts'

/** What a party prefers, as far as a decision needs it. */
export interface Preferences {
  readonly preferredChannel: Channel
  readonly optedOutEvents: ReadonlySet<string>
  /** Number of the change that made them so; null where none was recorded. */
  readonly changeId: string | null
}

/** What a party has asked for, as it is stored and shown. Absent addresses are null. */
export interface StoredPreferences {
  /** Kept for the record: messages go to the addresses that policy administration has. */
  readonly email: string | null
  readonly phone: string | null
  readonly preferredChannel: Channel
  readonly optedOutEvents: readonly string[]
}

export interface PartyPreferences extends StoredPreferences {
  readonly partyLocator: string
}

/** Which part of the list: at most `limit` parties, those whose locator comes after `after`, else the first. */
export interface PreferencesPageRequest {
  readonly limit: number
  readonly after: string | null
}

/** Preferences by party locator, in the order of its code points. `next` is the `after` of the next page, if there is one. */
export interface PreferencesPage {
  readonly items: readonly PartyPreferences[]
  readonly next: string | null
}

/** A change of preferences. `before` is null where there were none. */
export interface PreferenceChange {
  /** ISO 8601. */
  readonly changedAt: string
  /** Subject of the token; null where there was none. */
  readonly changedBy: string | null
  readonly before: StoredPreferences | null
  readonly after: StoredPreferences
}

/** What a party prefers now (null: nothing) and the changes that led there, newest first, as far as they are shown. */
export interface PreferenceHistory {
  readonly preferences: StoredPreferences | null
  readonly changes: readonly PreferenceChange[]
  /** There are older changes. */
  readonly isMore: boolean
}
