import type { Channel } from './channel.ts'

/** What a party prefers, as far as a decision needs it. */
export interface Preferences {
  readonly preferredChannel: Channel
  readonly optedOutEvents: ReadonlySet<string>
  /** Number of the change that made them so; null where none was recorded. */
  readonly changeId: string | null
}
