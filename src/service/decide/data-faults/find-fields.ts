import { FAULTY_COUNT_MIN } from './data-faults.ts'
import { createNewest, type Newest } from './newest.ts'

/**
 * Fields whose mapping is judged by their values. `burst`: most of the topic's newest events have the same value; `repeated`: they
 * have had it for longer than a burst of one customer's events lasts; `other field`: the value equals another field's. A reason
 * counts only if the event's text inserts it.
 */
export const JUDGED_FIELDS = ['partyLocator', 'locator', 'reason'] as const

export type JudgedField = (typeof JUDGED_FIELDS)[number]

export const FIELD_FINDINGS = ['named', 'burst', 'repeated', 'event id', 'other field', 'missing'] as const

export type FieldFinding = (typeof FIELD_FINDINGS)[number]

export interface PlaceFinding<Place, Finding> {
  readonly place: Place
  readonly finding: Finding
}

export interface JudgedEvent {
  readonly eventId: string
  readonly eventType: string
  readonly partyLocator: string | null
  /** The party locator if the event names none. */
  readonly reference: string
  readonly reason: string | null
  /** Publication time; undefined if unknown. */
  readonly timestampMs: bigint | undefined
}

/**
 * Returns a function that judges the field values of one topic's events. It keeps the values of the newest events and exposes none.
 *
 * @param givesReason whether the text of an event type inserts the reason
 */
export function createFieldFinder(givesReason: (eventType: string) => boolean) {
  const parties = createNewest(NEWEST_EVENT_COUNT)
  const references = createNewest(NEWEST_EVENT_COUNT)
  const findParty = createRepetitionFinder(parties)
  const findRepeatedReference = createRepetitionFinder(references)
  const namesReference = ({ reference, partyLocator }: JudgedEvent) =>
    reference !== '' && reference !== partyLocator
  function findReference(event: JudgedEvent): FieldFinding {
    if (!namesReference(event)) return 'missing'
    if (event.reference === event.eventId) return 'event id'
    return findRepeatedReference(event.reference, event.timestampMs)
  }
  return (events: readonly JudgedEvent[]): PlaceFinding<JudgedField, FieldFinding>[] => {
    for (const event of events.slice(-NEWEST_EVENT_COUNT)) {
      if (event.partyLocator !== null) parties.add(event.eventId, event.partyLocator)
      if (namesReference(event)) references.add(event.eventId, event.reference)
    }
    return events.flatMap((event): PlaceFinding<JudgedField, FieldFinding>[] => {
      const { partyLocator: party, eventType, timestampMs } = event
      return [
        { place: 'partyLocator', finding: party === null ? 'missing' : findParty(party, timestampMs) },
        { place: 'locator', finding: findReference(event) },
        ...(givesReason(eventType) ? [{ place: 'reason' as const, finding: judgeReason(event) }] : []),
      ]
    })
  }
}

/** A reason is a phrase, never an identifier. */
function judgeReason({ eventId, eventType, partyLocator, reference, reason }: JudgedEvent): FieldFinding {
  if (reason === null) return 'missing'
  return [eventId, eventType, partyLocator, reference].includes(reason) ? 'other field' : 'named'
}

/**
 * Returns a function that detects a value shared by most of the newest events. One customer's events may come in a burst, such as a
 * fleet's renewals.
 */
function createRepetitionFinder(newest: Newest) {
  const isMost = (value: string) => {
    const count = newest.countOf(value)
    return count >= FAULTY_COUNT_MIN && count * 2 > newest.count()
  }
  let most: { readonly value: string; readonly fromMs: bigint | undefined } | null = null
  return (value: string, timestampMs: bigint | undefined): 'named' | 'burst' | 'repeated' => {
    if (most !== null && !isMost(most.value)) most = null
    if (!isMost(value)) return 'named'
    if (most?.value !== value) most = { value, fromMs: timestampMs }
    if (most.fromMs === undefined || timestampMs === undefined) return 'burst'
    return Math.abs(Number(timestampMs - most.fromMs)) > BURST_MS_MAX ? 'repeated' : 'burst'
  }
}

/** Per topic. */
const NEWEST_EVENT_COUNT = 50

/** Short enough that the second minute reveals a lasting fault. */
const BURST_MS_MAX = 45_000
