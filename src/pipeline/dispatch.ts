import type { Batch, CommitResult, DecidedBatch } from '../core/batch/batch.ts'
import { type LocatedEvent, parseBatch } from '../core/batch/parse-batch.ts'
import { decide } from '../core/decision/decide.ts'
import type { Facts } from '../core/decision/facts.ts'
import type { RuleResult } from '../core/decision/rule-result.ts'
import type { Message } from '../core/event/message.ts'
import type { Parsed } from '../core/event/parse-event.ts'
import { composeEntry, type Entry } from '../core/log/compose-entry.ts'
import type { Contact } from '../core/party/contact.ts'
import type { Preferences } from '../core/party/preferences.ts'
import type { Templates } from '../core/templates/template.ts'

export interface DispatchNeeds<Result = CommitResult> {
  readonly parse: (message: Message) => Parsed
  readonly lookUp: (
    eventIds: readonly string[],
    partyLocators: readonly string[],
  ) => Promise<{ logged: ReadonlySet<string>; preferences: ReadonlyMap<string, Preferences> }>
  readonly contactsOf: (
    partyLocators: readonly string[],
    onAnswer: () => Promise<void>,
  ) => Promise<ReadonlyMap<string, Contact>>
  readonly ruleTable: { readonly revision: string; readonly decide: (facts: Facts) => RuleResult }
  readonly templates: Templates
  /** Writes a decided batch in one transaction and sends what was really inserted. */
  readonly commit: (batch: DecidedBatch) => Promise<Result>
  /** Lost against another transaction: worth a new try from the look-ups on. */
  readonly isConflict: (error: unknown) => boolean
  readonly newLocator: () => string
}

const CONFLICT_COUNT_MAX = 5

/**
 * Takes one batch through the pipeline: parse, look up, decide, render, commit. `heartbeat` is called as work
 * progresses; if it rejects, the batch is given up with that error and nothing is written. Rejects on infrastructure
 * errors, never because of what a message holds.
 */
export async function dispatch<Result>(
  needs: DispatchNeeds<Result>,
  batch: Batch,
  heartbeat: () => Promise<void>,
): Promise<Result> {
  const { events, rejected } = parseBatch(needs.parse, batch.messages)
  for (let conflictCount = 1; ; conflictCount++) {
    try {
      const entries = await decideAll(needs, events, heartbeat)
      const { messages, ...range } = batch
      return await needs.commit({
        ...range,
        ruleTableRevision: needs.ruleTable.revision,
        entries,
        rejected,
        messagesOf: (eventId) => messages.filter((message) => isEvent(needs.parse(message), eventId)),
      })
    } catch (error) {
      if (!needs.isConflict(error) || conflictCount === CONFLICT_COUNT_MAX) throw error
      await heartbeat()
    }
  }
}

/** The rows of those events that are not logged yet, ordered by event id. */
async function decideAll(
  needs: Omit<DispatchNeeds, 'commit'>,
  events: readonly LocatedEvent[],
  heartbeat: () => Promise<void>,
): Promise<Entry[]> {
  if (events.length === 0) return []
  const parties = partiesOf(events)
  const { logged, preferences } = await needs.lookUp(
    events.map(({ event }) => event.eventId),
    parties,
  )
  const fresh = logged.size === 0 ? events : events.filter(({ event }) => !logged.has(event.eventId))
  const contacts = await needs.contactsOf(fresh === events ? parties : partiesOf(fresh), heartbeat)
  const entries = fresh.map(({ event, offset }) => {
    const party = event.partyLocator
    const contact = party === null ? undefined : contacts.get(party)
    const recipient = { partyLocator: party, invalid: event.partyLocatorInvalid }
    const decision = decide(
      needs.ruleTable.decide,
      event.eventType,
      recipient,
      contact,
      party === null ? undefined : preferences.get(party),
    )
    return composeEntry(needs.newLocator(), event, offset, decision, contact, needs.templates)
  })
  return entries.sort(byEventId)
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
