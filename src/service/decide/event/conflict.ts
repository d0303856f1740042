import type { Event, ParseResult } from './parse-event.ts'
import type { Place } from './position.ts'
import { REJECTIONS, type Rejection } from './rejection.ts'

/** The row of an event id, with the message data in its last decision. */
export interface LoggedRow {
  readonly eventId: string
  readonly locator: string
  readonly eventType: string
  readonly partyLocator: string | null
  /** Null if it is not stored, such as after an erasure. */
  readonly reference: string | null
  /** That of the event; null if it has none, or if `reference` is not stored. */
  readonly reason: string | null
  /** Null if no decision explains the row. */
  readonly origin: Place | null
  /** Null if it is not known which envelope map read the message. */
  readonly envelopeMapRevision: string | null
  readonly erased: boolean
}

/** Rows of other messages, by the locators of the attempts that have none because of them. */
export type TakenIds = ReadonlyMap<string, LoggedRow>

/** True if the row comes from the message at this place. */
export function isOwnRow({ origin }: LoggedRow, { topic, partition, offset }: Place): boolean {
  return origin?.offset === offset && origin.partition === partition && origin.topic === topic
}

/** The only difference of an event that has neither a party nor a reference: nothing shows that it is the one of the row. */
const NAMELESS = 'nameless'

/** The fields in which an event differs from the row of its id. None if the row comes from its message, or from an unknown one. */
export function findDifferences(row: LoggedRow, place: Place, event: Event): readonly string[] {
  if (row.origin === null || isOwnRow(row, place)) return []
  const differences: string[] = []
  if (row.eventType !== event.eventType) differences.push('event type')
  if (row.partyLocator !== event.partyLocator) differences.push('party')
  if (row.reference !== null && row.reference !== event.reference) differences.push('reference')
  if (row.reference !== null && row.reason !== event.reason) differences.push('reason')
  // A map that finds none of both in any message must not make them duplicates.
  if (differences.length === 0 && event.partyLocator === null && event.reference === '') return [NAMELESS]
  return differences
}

/** Reads the message in question by the envelope map of a revision; null: by the one in force. */
export type ReadBy = (envelopeMapRevision: string | null) => Promise<ParseResult> | ParseResult

/** The differences by the envelope map in force; none if there are none by the map that read the row's message. */
export async function findConflict(
  row: LoggedRow,
  place: Place,
  event: Event,
  readBy: ReadBy,
): Promise<readonly string[]> {
  const differences = findDifferences(row, place, event)
  if (differences.length === 0) return []
  const then = await readBy(row.envelopeMapRevision)
  const isSameId = then.kind === 'event' && then.event.eventId === row.eventId
  return isSameId && findDifferences(row, place, then.event).length === 0 ? [] : differences
}

/** Example, after the name of a row: `has another party, reference`. */
export function describeDifferences(differences: readonly string[]): string {
  return differences.includes(NAMELESS)
    ? 'may be that of another event: neither has a party or a reference'
    : `has another ${differences.join(', ')}`
}

export function describeConflict({ locator, origin }: LoggedRow, differences: readonly string[]): Rejection {
  const from = origin === null ? '' : ` of ${origin.topic}/${origin.partition}, offset ${origin.offset},`
  const error = `${REJECTIONS.conflict}: ${locator}${from} ${describeDifferences(differences)}`
  return { code: 'conflict', error }
}
