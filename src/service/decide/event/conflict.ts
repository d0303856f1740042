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
  /** The event's reason; null if it has none, or if `reference` is not stored. */
  readonly reason: string | null
  /** Null if no decision explains the row. */
  readonly origin: Place | null
  /** Null if it is not known which envelope map read the message. */
  readonly envelopeMapRevision: string | null
  readonly erased: boolean
}

/** Conflicting rows of other messages, by the locator of the attempt that got no row. */
export type TakenIds = ReadonlyMap<string, LoggedRow>

/** True if the row comes from the message at this place. */
export function isOwnRow({ origin }: LoggedRow, { topic, partition, offset }: Place): boolean {
  return origin?.offset === offset && origin.partition === partition && origin.topic === topic
}

/** The difference of an event without party and reference: nothing proves that it is the row's event. */
const NAMELESS = 'nameless'

/** Fields in which an event differs from the row with its id; empty if the row's message is this one or unknown. */
export function findDifferences(row: LoggedRow, place: Place, event: Event): readonly string[] {
  if (row.origin === null || isOwnRow(row, place)) return []
  const differences: string[] = []
  if (row.eventType !== event.eventType) differences.push('event type')
  if (row.partyLocator !== event.partyLocator) differences.push('party')
  if (row.reference !== null && row.reference !== event.reference) differences.push('reference')
  if (row.reference !== null && row.reason !== event.reason) differences.push('reason')
  // A map that finds neither in any message must not turn all messages into duplicates.
  if (differences.length === 0 && event.partyLocator === null && event.reference === '') return [NAMELESS]
  return differences
}

/** Reads the message by the envelope map of a revision; null: the one in force. */
export type ReadBy = (envelopeMapRevision: string | null) => Promise<ParseResult> | ParseResult

/** Differences by the envelope map in force; empty if the map that read the row's message finds none. */
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
