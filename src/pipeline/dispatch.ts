import type { Batch, CommitResult, PreparedBatch } from '../core/batch/batch.ts'
import { type LocatedEvent, parseBatch } from '../core/batch/parse-batch.ts'
import { decide } from '../core/decision/decide.ts'
import type { Facts } from '../core/decision/facts.ts'
import type { RuleResult } from '../core/decision/rule-result.ts'
import { isPruned, type Pruned, skipPruned } from '../core/decision/skip-pruned.ts'
import type { Message } from '../core/event/message.ts'
import type { Parsed } from '../core/event/parse-event.ts'
import { composeEntry, type Entry } from '../core/log/compose-entry.ts'
import type { Contacts } from '../core/party/contact.ts'
import type { PreferencesByParty } from '../core/party/preferences.ts'
import type { Templates } from '../core/templates/template.ts'

interface Logged {
  /** Those of the event ids that have a log row. */
  readonly eventIds: ReadonlySet<string>
  /** What prunings may have deleted of the partition. */
  readonly pruned: readonly Pruned[]
}

const NONE_LOGGED: Logged = { eventIds: new Set(), pruned: [] }

export interface DispatchNeeds<Result = CommitResult> {
  readonly parse: (message: Message) => Parsed
  /** Of the map by which `parse` reads. */
  readonly envelopeMapRevision: string
  readonly findLogged: (topic: string, partition: number, eventIds: readonly string[]) => Promise<Logged>
  /** In their order; those that it could not ask for in time are left out, but never the first. */
  readonly contactsOf: (partyLocators: readonly string[]) => Promise<Contacts>
  readonly ruleTable: { readonly revision: string; readonly decide: (facts: Facts) => RuleResult }
  readonly templates: Templates
  readonly newLocator: () => string
  /** Reads preferences, decides and writes a batch in one transaction, and sends what was really inserted. */
  readonly commit: (batch: PreparedBatch) => Promise<Result>
  /** Lost against another transaction: worth a new try from the look-ups on. */
  readonly isConflict: (error: unknown) => boolean
}

interface Found extends Pick<Logged, 'pruned'> {
  /** Not logged yet. */
  readonly events: readonly LocatedEvent[]
  readonly contacts: Contacts
}

const CONFLICT_COUNT_MAX = 5

/**
 * Takes a batch through the pipeline: parses its messages, looks up which events are logged and the contacts of the others, and
 * commits what follows from that. The batch is cut before the first event whose party could not be asked for in time: the result
 * says how far it went. Rejects on infrastructure errors, never because of the content of a message.
 */
export async function dispatchBatch<Result>(needs: DispatchNeeds<Result>, batch: Batch): Promise<Result> {
  const parsed = parseBatch(needs.parse, batch.messages)
  for (let conflictCount = 1; ; conflictCount++) {
    try {
      const found = await find(needs, batch, parsed.events)
      return await needs.commit(prepared(needs, cutToAsked(batch, found), parsed, found))
    } catch (error) {
      if (!needs.isConflict(error) || conflictCount === CONFLICT_COUNT_MAX) throw error
    }
  }
}

async function find(
  needs: DispatchNeeds<unknown>,
  { topic, partition }: Batch,
  events: readonly LocatedEvent[],
): Promise<Found> {
  const eventIds = events.map(({ event }) => event.eventId)
  const { eventIds: logged, pruned } =
    events.length === 0 ? NONE_LOGGED : await needs.findLogged(topic, partition, eventIds)
  const fresh = logged.size === 0 ? events : events.filter(({ event }) => !logged.has(event.eventId))
  const contacts: Contacts = fresh.length === 0 ? new Map() : await needs.contactsOf(partiesOf(fresh))
  return { events: fresh, contacts, pruned }
}

function cutToAsked(batch: Batch, { events, contacts }: Found): Batch {
  const end = events.find(
    ({ event: { partyLocator } }) => partyLocator !== null && !contacts.has(partyLocator),
  )?.offset
  if (end === undefined) return batch
  const messages = batch.messages.filter(({ offset }) => offset < end)
  const nextOffset = messages.at(-1)?.offset
  if (nextOffset === undefined) throw new Error('not even the first party of a batch was asked for')
  return { ...batch, messages, nextOffset, lastMessage: batch.fingerprintAt?.(nextOffset) ?? null }
}

function prepared(
  needs: DispatchNeeds<unknown>,
  { messages, fingerprintAt: _, ...range }: Batch,
  { rejected }: ReturnType<typeof parseBatch>,
  found: Found,
): PreparedBatch {
  const events = found.events.filter(({ offset }) => offset <= range.nextOffset)
  return {
    ...range,
    ruleTableRevision: needs.ruleTable.revision,
    envelopeMapRevision: needs.envelopeMapRevision,
    rejected: rejected.filter(({ message }) => message.offset <= range.nextOffset),
    messagesOf: (eventId) => messages.filter((message) => isEvent(needs.parse(message), eventId)),
    partyLocators: partiesOf(events),
    decide: (preferences) =>
      events.map((located) => entryOf(needs, located, found, preferences)).sort(byEventId),
  }
}

function entryOf(
  { ruleTable, templates, newLocator }: DispatchNeeds<unknown>,
  { event, offset, timestampMs }: LocatedEvent,
  { pruned, contacts }: Found,
  preferences: PreferencesByParty,
): Entry {
  const { partyLocator, partyLocatorInvalid: invalid, eventType } = event
  const contact = contacts.get(partyLocator ?? '')
  const preferred = preferences.get(partyLocator ?? '')
  const decision = decide(ruleTable.decide, eventType, { partyLocator, invalid }, contact, preferred)
  const final = isPruned(pruned, offset, timestampMs) ? skipPruned(decision) : decision
  return composeEntry(newLocator(), event, offset, final, contact, templates)
}

function partiesOf(events: readonly LocatedEvent[]): string[] {
  const parties = new Set<string>()
  for (const { event } of events) {
    if (event.partyLocator !== null) parties.add(event.partyLocator)
  }
  return [...parties]
}

/** Any total order does, so long as every consumer uses the same. */
function byEventId(a: Entry, b: Entry): number {
  return a.event.eventId < b.event.eventId ? -1 : 1
}

function isEvent(parsed: Parsed, eventId: string): boolean {
  return parsed.kind === 'event' && parsed.event.eventId === eventId
}
