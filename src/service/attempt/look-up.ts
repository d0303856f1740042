import { distinctParties, type FirstAttempt } from '../decide/attempt/attempt.ts'
import type { Batch, FindLogged, LoggedEvents } from '../decide/attempt/batch.ts'
import type { RunStage } from '../decide/attempt/stage.ts'
import { isPruned, type PrunedPart } from '../decide/decision/skip-pruned.ts'
import { describeConflict, findConflict, type ReadBy } from '../decide/event/conflict.ts'
import type { Message } from '../decide/event/message.ts'
import { type Event, type ParseResult, pickVariables } from '../decide/event/parse-event.ts'
import type { Fingerprint } from '../decide/event/position.ts'
import type { RejectedMessage } from '../decide/event/rejected-message.ts'
import type { Contacts } from '../decide/party/contact.ts'

export interface LookUpNeeds {
  /** Called once per batch. */
  readonly parserFor: (topic: string) => (message: Message) => ParseResult
  /** Revision of the envelope map with which `parserFor` reads. */
  readonly envelopeMapRevision: string
  /** Parses as the envelope map of this revision does for the topic; null: the current one. */
  readonly parseBy: (
    topic: string,
    message: Message,
    envelopeMapRevision: string | null,
  ) => Promise<ParseResult> | ParseResult
  readonly findLogged: FindLogged
  /** Contacts, requested in the order of the parties. Parties not asked in time are left out, except the first. */
  readonly lookUpContacts: (partyLocators: readonly string[]) => Promise<Contacts>
  readonly newLocator: () => string
  readonly takeFingerprint: (message: Message) => Fingerprint
  readonly stage: RunStage
}

/** Policy administration, as retries and requests ask it. */
export interface PartiesAgain {
  /** Contacts, requested in the order of the parties. Parties not asked in time are left out, except the first. */
  readonly lookUpAgain: (partyLocators: readonly string[]) => Promise<Contacts>
  /** True while it is known to be down. */
  readonly isDown: () => boolean
}

export interface Reading {
  readonly message: Message
  readonly event: Event
}

export interface LookedUpBatch extends Pick<ParsedBatch, 'repeated' | 'readings'> {
  /** The batch, cut before the first event whose party was not asked in time. */
  readonly batch: Batch
  /** Attempts for the events without a log row. */
  readonly open: readonly FirstAttempt[]
  readonly rejected: readonly RejectedMessage[]
  readonly tombstoneCount: number
}

interface LocatedEvent {
  readonly event: Event
  readonly offset: bigint
  readonly timestampMs: bigint | undefined
}

interface ParsedBatch {
  readonly events: readonly LocatedEvent[]
  readonly rejected: readonly RejectedMessage[]
  /** Messages without a value, which are passed over. */
  readonly tombstones: readonly Message[]
  /** Ids of several messages. */
  readonly repeated: ReadonlySet<string>
  /** All messages with this id. */
  readonly readings: (eventId: string) => readonly Reading[]
}

const NONE_LOGGED: LoggedEvents = { rows: new Map(), pruned: [] }

/** Parses the messages of a batch, and looks up the rows of their events and the contacts of their parties. */
export async function lookUpBatch(needs: LookUpNeeds, batch: Batch): Promise<LookedUpBatch> {
  const [complete] = await beginLookUps(needs, [batch])
  if (complete === undefined) throw new Error('a batch was not looked up')
  return complete()
}

/**
 * Parses the messages of batches of different partitions, and looks up the rows of all their events at once. Returns for each batch the
 * function that looks up its contacts.
 */
export async function beginLookUps(
  needs: LookUpNeeds,
  batches: readonly Batch[],
): Promise<readonly (() => Promise<LookedUpBatch>)[]> {
  const parsedBatches = batches.map((batch) => {
    const { topic, partition, messages } = batch
    const parsed = parseBatch(needs.parserFor(topic), messages)
    const eventIds = parsed.events.map(({ event }) => event.eventId)
    return { batch, parsed, ids: { topic, partition, eventIds } }
  })
  const ids = parsedBatches.map((batch) => batch.ids).filter(({ eventIds }) => eventIds.length > 0)
  const eventIds = ids.flatMap((partition) => partition.eventIds)
  const found = ids.length === 0 ? [] : await needs.stage('look_up', eventIds, () => needs.findLogged(ids))
  return parsedBatches.map(
    ({ batch, parsed, ids: own }) =>
      () =>
        completeLookUp(needs, batch, parsed, found[ids.indexOf(own)] ?? NONE_LOGGED),
  )
}

async function completeLookUp(
  needs: LookUpNeeds,
  batch: Batch,
  parsed: ParsedBatch,
  { rows, pruned }: LoggedEvents,
): Promise<LookedUpBatch> {
  const { stage, lookUpContacts } = needs
  const { events, tombstones, repeated } = parsed
  const fresh = events.filter(({ event }) => !rows.has(event.eventId))
  const conflicts = await findConflicts(needs, batch, parsed.readings, rows)
  const parties = distinctParties(fresh.map(({ event }) => event))
  const contacts =
    fresh.length === 0 ? new Map() : await stage('contacts', parties, () => lookUpContacts(parties))
  const cut = cutToAsked(needs, batch, fresh, contacts)
  return {
    batch: cut,
    open: fresh
      .filter(({ offset }) => offset <= cut.lastOffset)
      .map((located) => firstAttempt(needs, cut, located, contacts, pruned)),
    rejected: [...parsed.rejected, ...conflicts].filter(({ message }) => message.offset <= cut.lastOffset),
    tombstoneCount: tombstones.filter(({ offset }) => offset <= cut.lastOffset).length,
    repeated,
    readings: (eventId) => parsed.readings(eventId).filter(({ message }) => message.offset <= cut.lastOffset),
  }
}

/** The messages that differ from the row of their id, also as its envelope map read them. */
async function findConflicts(
  { parseBy }: LookUpNeeds,
  { topic, partition }: Batch,
  readings: LookedUpBatch['readings'],
  rows: LoggedEvents['rows'],
): Promise<readonly RejectedMessage[]> {
  const conflicts: RejectedMessage[] = []
  for (const row of rows.values())
    for (const { message, event } of readings(row.eventId)) {
      const place = { topic, partition, offset: message.offset }
      const readBy: ReadBy = (revision) => parseBy(topic, message, revision)
      const differences = await findConflict(row, place, event, readBy)
      if (differences.length > 0) conflicts.push({ message, rejection: describeConflict(row, differences) })
    }
  return conflicts
}

function parseBatch(parse: (message: Message) => ParseResult, messages: readonly Message[]): ParsedBatch {
  const events = new Map<string, LocatedEvent & { readonly readings: Reading[] }>()
  const rejected: RejectedMessage[] = []
  const tombstones: Message[] = []
  const repeated = new Set<string>()
  for (const message of messages) {
    const parsed = parse(message)
    if (parsed.kind === 'tombstone') tombstones.push(message)
    else if (parsed.kind === 'rejection') rejected.push({ message, rejection: parsed.rejection })
    else {
      const { event } = parsed
      const known = events.get(event.eventId)
      const { offset, timestampMs } = message
      if (known === undefined)
        events.set(event.eventId, { event, offset, timestampMs, readings: [{ message, event }] })
      else {
        known.readings.push({ message, event })
        repeated.add(event.eventId)
      }
    }
  }
  const readings = (eventId: string) => events.get(eventId)?.readings ?? []
  return { events: [...events.values()], rejected, tombstones, repeated, readings }
}

function cutToAsked(
  { takeFingerprint }: LookUpNeeds,
  batch: Batch,
  events: readonly LocatedEvent[],
  contacts: Contacts,
): Batch {
  const end = events.find(
    ({ event: { partyLocator } }) => partyLocator !== null && !contacts.has(partyLocator),
  )?.offset
  if (end === undefined) return batch
  const messages = batch.messages.filter(({ offset }) => offset < end)
  const last = messages.at(-1)
  if (last === undefined) throw new Error('not even the first party of a batch was asked for')
  return { ...batch, messages, lastOffset: last.offset, lastMessage: takeFingerprint(last) }
}

function firstAttempt(
  { newLocator, envelopeMapRevision }: LookUpNeeds,
  { topic, partition }: Batch,
  { event, offset, timestampMs }: LocatedEvent,
  contacts: Contacts,
  pruned: readonly PrunedPart[],
): FirstAttempt {
  const { eventId, eventType, partyLocator, stated, traceId } = event
  return {
    kind: 'first',
    locator: newLocator(),
    eventId,
    eventType,
    partyLocator,
    stated,
    contact: contacts.get(partyLocator ?? ''),
    origin: { topic, partition, offset, traceId, envelopeMapRevision },
    variables: pickVariables(event),
    isPruned: isPruned(pruned, offset, timestampMs),
    request: null,
  }
}
