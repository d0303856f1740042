import { CHANNELS, type Channel } from '../decision/channel.ts'
import { PARTY_STATES, type PartyState } from '../decision/party-state.ts'
import type { EventTypeCell } from './event-type-cell.ts'
import { oneOf, orAny, parseYesNo } from './parse-cells.ts'
import type { SheetRow } from './read-sheet.ts'

/** The columns that say which situations a row is about, for people, in their usual order. */
export const WHEN_COLUMNS = [
  'event type',
  'party',
  'opted out',
  'preferred channel',
  'email on file',
  'phone on file',
] as const

/** Which situations a row is about: all of these hold. Null means any. */
export interface When {
  readonly eventType: EventTypeCell | null
  readonly party: PartyState | null
  readonly optedOut: boolean | null
  readonly preferredChannel: Channel | null
  /** Not null matches only a found party: of others it is unknown what is on file. */
  readonly emailOnFile: boolean | null
  readonly phoneOnFile: boolean | null
}

/** The cells of these columns, with undefined for each that has a fault. */
export function readWhen(
  { read }: Pick<SheetRow<(typeof WHEN_COLUMNS)[number]>, 'read'>,
  parseEventTypes: (text: string) => EventTypeCell,
): { [K in keyof When]: When[K] | undefined } {
  return {
    eventType: read('event type', orAny(parseEventTypes)),
    party: read('party', orAny(oneOf(PARTY_STATES))),
    optedOut: read('opted out', orAny(parseYesNo)),
    preferredChannel: read('preferred channel', orAny(oneOf(CHANNELS))),
    emailOnFile: read('email on file', orAny(parseYesNo)),
    phoneOnFile: read('phone on file', orAny(parseYesNo)),
  }
}
