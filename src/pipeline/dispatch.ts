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

export interface LookUpNeeds {
  readonly parse: (message: Message) => Parsed
  /** Of the map by which `parse` reads. */
  readonly envelopeMapRevision: string
  readonly findLogged: (topic: string, partition: number, eventIds: readonly string[]) => Promise<Logged>
  /** In their order; those that it could not ask for in time are left out, but never the first. */
  readonly contactsOf: (partyLocators: readonly string[]) => Promise<Contacts>
  readonly nowMs: () => number
}

export interface DispatchNeeds<Result = CommitResult> extends LookUpNeeds {
  readonly ruleTable: { readonly revision: string; readonly decide: (facts: Facts) => RuleResult }
  readonly templates: Templates
  readonly newLocator: () => string
  /** Reads preferences, decides and writes a batch in one transaction, and sends what was really inserted. */
  readonly commit: (batch: PreparedBatch) => Promise<Result>
  /** Lost against another transaction: worth a new try from the look-ups on. */
  readonly isConflict: (error: unknown) => boolean
}

/** A batch whose events are looked up; what was found may be out of date by the time that it is committed. */
export interface LookedUpBatch {
  readonly batch: Batch
  readonly parsed: ReturnType<typeof parseBatch>
  readonly found: Found
}

interface Found extends Pick<Logged, 'pruned'> {
  /** Not logged yet. */
  readonly events: readonly LocatedEvent[]
  readonly contacts: Contacts
  /** When the contacts were known. */
  readonly atMs: number
}

const CONFLICT_COUNT_MAX = 5
/** A batch may wait for the one before it: contacts that are older are asked for again. */
const CONTACTS_VALID_MS = 5_000

/**
 * The first half of the pipeline: parses the messages, and looks up which events are logged and the contacts of the others.
 * Depends on no batch before this one, so that it can be done while that is committed. Rejects on infrastructure errors,
 * never because of what a message holds.
 */
export async function lookUpBatch(needs: LookUpNeeds, batch: Batch): Promise<LookedUpBatch> {
  const parsed = parseBatch(needs.parse, batch.messages)
  return { batch, parsed, found: await find(needs, batch, parsed.events) }
}

/**
 * The second half, in one transaction: decide, render, write, send. The batch is cut before the first event whose party could
 * not be asked for in time: `commit` says how far it went, and the rest is for the next batch. Rejects as the first half
 * does.
 */
export async function commitLookedUp<Result>(
  needs: DispatchNeeds<Result>,
  { batch, parsed, found }: LookedUpBatch,
): Promise<Result> {
  for (let conflictCount = 1; ; conflictCount++) {
    try {
      const current =
        conflictCount === 1 ? await refreshed(needs, found) : await find(needs, batch, parsed.events)
      return await needs.commit(prepared(needs, cutToAsked(batch, current), parsed, current))
    } catch (error) {
      if (!needs.isConflict(error) || conflictCount === CONFLICT_COUNT_MAX) throw error
    }
  }
}

async function find(
  needs: LookUpNeeds,
  { topic, partition }: Batch,
  events: readonly LocatedEvent[],
): Promise<Found> {
  const eventIds = events.map(({ event }) => event.eventId)
  const { eventIds: logged, pruned } =
    events.length === 0 ? NONE_LOGGED : await needs.findLogged(topic, partition, eventIds)
  const fresh = logged.size === 0 ? events : events.filter(({ event }) => !logged.has(event.eventId))
  return withContacts(needs, fresh, pruned)
}

async function refreshed(needs: LookUpNeeds, found: Found): Promise<Found> {
  if (needs.nowMs() - found.atMs < CONTACTS_VALID_MS) return found
  return withContacts(needs, found.events, found.pruned)
}

async function withContacts(
  needs: LookUpNeeds,
  events: readonly LocatedEvent[],
  pruned: readonly Pruned[],
): Promise<Found> {
  const contacts: Contacts = events.length === 0 ? new Map() : await needs.contactsOf(partiesOf(events))
  return { events, contacts, pruned, atMs: needs.nowMs() }
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
  { rejected }: LookedUpBatch['parsed'],
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
