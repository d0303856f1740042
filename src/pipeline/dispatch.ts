import type { Batch, CommitResult, PreparedBatch } from '../core/batch/batch.ts'
import { type LocatedEvent, parseBatch } from '../core/batch/parse-batch.ts'
import { decide } from '../core/decision/decide.ts'
import type { Facts } from '../core/decision/facts.ts'
import type { RuleResult } from '../core/decision/rule-result.ts'
import { skipPruned } from '../core/decision/skip-pruned.ts'
import type { Message } from '../core/event/message.ts'
import type { Parsed } from '../core/event/parse-event.ts'
import { composeEntry, type Entry } from '../core/log/compose-entry.ts'
import type { Contacts } from '../core/party/contact.ts'
import type { PreferencesByParty } from '../core/party/preferences.ts'
import type { Templates } from '../core/templates/template.ts'

interface Logged {
  /** Those of the event ids that have a log row. */
  readonly eventIds: ReadonlySet<string>
  /** Events published before this may have had a row that was pruned: ms since 1970; null where nothing was. */
  readonly prunedBeforeMs: number | null
}

const NONE_LOGGED: Logged = { eventIds: new Set(), prunedBeforeMs: null }

export interface PrepareNeeds {
  readonly parse: (message: Message) => Parsed
  readonly findLogged: (eventIds: readonly string[]) => Promise<Logged>
  readonly contactsOf: (partyLocators: readonly string[], onAnswer: () => Promise<void>) => Promise<Contacts>
  readonly ruleTable: { readonly revision: string; readonly decide: (facts: Facts) => RuleResult }
  readonly templates: Templates
  readonly newLocator: () => string
}

export interface DispatchNeeds<Result = CommitResult> extends PrepareNeeds {
  /** Reads preferences, decides and writes a batch in one transaction, and sends what was really inserted. */
  readonly commit: (batch: PreparedBatch) => Promise<Result>
  /** Lost against another transaction: worth a new try from the look-ups on. */
  readonly isConflict: (error: unknown) => boolean
}

const CONFLICT_COUNT_MAX = 5

/**
 * Takes one batch through the pipeline: parse, look up; then, in one transaction, decide, render, write, send.
 * `heartbeat` is called as work progresses; if it rejects, the batch is given up with that error and nothing is written.
 * Rejects on infrastructure errors, never because of what a message holds.
 */
export async function dispatch<Result>(
  needs: DispatchNeeds<Result>,
  batch: Batch,
  heartbeat: () => Promise<void>,
): Promise<Result> {
  for (let conflictCount = 1; ; conflictCount++) {
    try {
      return await needs.commit(await prepare(needs, batch, heartbeat))
    } catch (error) {
      if (!needs.isConflict(error) || conflictCount === CONFLICT_COUNT_MAX) throw error
      await heartbeat()
    }
  }
}

/** Everything that takes time: parses the messages, and looks up which events are logged and the contacts of the others. */
export async function prepare(
  needs: PrepareNeeds,
  { messages, ...range }: Batch,
  heartbeat: () => Promise<void>,
): Promise<PreparedBatch> {
  const { events, rejected } = parseBatch(needs.parse, messages)
  const { eventIds: logged, prunedBeforeMs } =
    events.length === 0 ? NONE_LOGGED : await needs.findLogged(events.map(({ event }) => event.eventId))
  const fresh = logged.size === 0 ? events : events.filter(({ event }) => !logged.has(event.eventId))
  const partyLocators = partiesOf(fresh)
  const contacts: Contacts =
    events.length === 0 ? new Map() : await needs.contactsOf(partyLocators, heartbeat)
  return {
    ...range,
    ruleTableRevision: needs.ruleTable.revision,
    rejected,
    messagesOf: (eventId) => messages.filter((message) => isEvent(needs.parse(message), eventId)),
    partyLocators,
    decide: (preferences) =>
      fresh.map((located) => entryOf(needs, located, prunedBeforeMs, contacts, preferences)).sort(byEventId),
  }
}

function entryOf(
  { ruleTable, templates, newLocator }: PrepareNeeds,
  { event, offset, timestampMs = -1n }: LocatedEvent,
  prunedBeforeMs: number | null,
  contacts: Contacts,
  preferences: PreferencesByParty,
): Entry {
  const { partyLocator, partyLocatorInvalid: invalid, eventType } = event
  const contact = contacts.get(partyLocator ?? '')
  const preferred = preferences.get(partyLocator ?? '')
  const decision = decide(ruleTable.decide, eventType, { partyLocator, invalid }, contact, preferred)
  const isPruned = prunedBeforeMs !== null && timestampMs >= 0n && timestampMs < prunedBeforeMs
  const final = isPruned ? skipPruned(decision) : decision
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
