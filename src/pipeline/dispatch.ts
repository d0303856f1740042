import { type OpenAttempt, partiesOf } from '../core/attempt/attempt.ts'
import type { RunStage } from '../core/attempt/stage.ts'
import type { Batch, CommitResult, RejectedMessage } from '../core/batch/batch.ts'
import { type LocatedEvent, parseBatch } from '../core/batch/parse-batch.ts'
import type { Fingerprint } from '../core/batch/position.ts'
import { isPruned, type Logged, type Pruned } from '../core/decision/skip-pruned.ts'
import type { Message } from '../core/event/message.ts'
import { type Parsed, variablesOf } from '../core/event/parse-event.ts'
import { REJECTIONS } from '../core/event/rejection.ts'
import type { Contacts } from '../core/party/contact.ts'
import type { MakeAttempts, Refused } from './attempt.ts'

const NONE_LOGGED: Logged = { eventIds: new Set(), pruned: [] }

export interface LookUpNeeds {
  readonly parse: (message: Message) => Parsed
  /** Revision of the envelope map with which `parse` reads. */
  readonly envelopeMapRevision: string
  readonly findLogged: (topic: string, partition: number, eventIds: readonly string[]) => Promise<Logged>
  /** Contacts, requested in the order of the parties. Parties not asked in time are left out, except the first. */
  readonly contactsOf: (partyLocators: readonly string[]) => Promise<Contacts>
  readonly newLocator: () => string
  readonly fingerprintOf: (message: Message) => Fingerprint
  readonly stage: RunStage
}

export interface DispatchNeeds extends LookUpNeeds {
  readonly attempt: MakeAttempts
  /** True if another transaction won, so that the batch starts again from its look-ups. */
  readonly isConflict: (error: unknown) => boolean
  readonly countConflict: () => void
}

export interface LookedUpBatch {
  /** The batch, cut before the first event whose party was not asked in time. */
  readonly batch: Batch
  /** Attempts for the events without a log row. */
  readonly open: readonly OpenAttempt[]
  readonly rejected: readonly RejectedMessage[]
  readonly tombstoneCount: number
  readonly messagesOf: (eventId: string) => readonly Message[]
}

const CONFLICT_COUNT_MAX = 5

/**
 * Takes a batch through the pipeline: parse, look up, then the transaction of `attempt.ts` under the lock of the partition's
 * checkpoint. Rejects on infrastructure errors, never because of a message's content.
 */
export function dispatchBatch(needs: DispatchNeeds, batch: Batch): Promise<CommitResult> {
  return needs.stage('batch', batch, async () => {
    for (let conflictCount = 1; ; conflictCount++) {
      try {
        const lookedUp = await lookUpBatch(needs, batch)
        return await needs.stage('commit', batch, () => commitBatch(needs, lookedUp))
      } catch (error) {
        if (!needs.isConflict(error)) throw error
        needs.countConflict()
        if (conflictCount === CONFLICT_COUNT_MAX) throw error
      }
    }
  })
}

export async function lookUpBatch(needs: LookUpNeeds, batch: Batch): Promise<LookedUpBatch> {
  const { topic, partition } = batch
  const { stage, findLogged, contactsOf } = needs
  const { events, rejected, tombstones, messagesOf } = parseBatch(needs.parse, batch.messages)
  const eventIds = events.map(({ event }) => event.eventId)
  const { eventIds: logged, pruned } =
    events.length === 0
      ? NONE_LOGGED
      : await stage('look_up', eventIds, () => findLogged(topic, partition, eventIds))
  const fresh = logged.size === 0 ? events : events.filter(({ event }) => !logged.has(event.eventId))
  const parties = partiesOf(fresh.map(({ event }) => event))
  const contacts =
    fresh.length === 0 ? new Map() : await stage('contacts', parties, () => contactsOf(parties))
  const cut = cutToAsked(needs, batch, fresh, contacts)
  return {
    batch: cut,
    open: fresh
      .filter(({ offset }) => offset <= cut.lastOffset)
      .map((located) => firstAttempt(needs, cut, located, contacts, pruned)),
    rejected: rejected.filter(({ message }) => message.offset <= cut.lastOffset),
    tombstoneCount: tombstones.filter(({ offset }) => offset <= cut.lastOffset).length,
    messagesOf: (eventId) => messagesOf(eventId).filter(({ offset }) => offset <= cut.lastOffset),
  }
}

/** Makes the attempts of a batch and moves its checkpoint, under the checkpoint's lock. */
export async function commitBatch(
  { attempt }: Pick<DispatchNeeds, 'attempt'>,
  lookedUp: LookedUpBatch,
): Promise<CommitResult> {
  const { batch, open, tombstoneCount } = lookedUp
  const { topic, partition, expectedCheckpoint, lastOffset: offset, lastMessage } = batch
  let checkpoint = expectedCheckpoint
  const made = await attempt({
    lock: async (tx) => {
      checkpoint = await tx.lockCheckpoint(batch)
      return checkpoint === expectedCheckpoint ? open : null
    },
    reject: (tx, refused) => tx.insertRejected(batch, rejectedOf(lookedUp, refused)),
    move: { topic, partition, offset, lastMessage },
  })
  if (made === null) return { kind: 'moved', checkpoint }
  const { attempts: inserted, refused } = made
  const rejected = rejectedOf(lookedUp, refused)
  return { kind: 'committed', lastOffset: offset, inserted, rejected, tombstoneCount }
}

/** The rejected messages of a batch, with all messages of the events that the database refuses. */
export function rejectedOf({ rejected, messagesOf }: LookedUpBatch, refused: Refused): RejectedMessage[] {
  const byDatabase = [...refused].flatMap(([{ eventId }, { message: words }]) => {
    const error = `${REJECTIONS['refused-by-database']}: ${words}`
    const rejection = { code: 'refused-by-database' as const, error }
    return messagesOf(eventId).map((message) => ({ message, rejection }))
  })
  return [...rejected, ...byDatabase]
}

function cutToAsked(
  { fingerprintOf }: LookUpNeeds,
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
  return { ...batch, messages, lastOffset: last.offset, lastMessage: fingerprintOf(last) }
}

function firstAttempt(
  { newLocator, envelopeMapRevision }: LookUpNeeds,
  { topic, partition }: Batch,
  { event, offset, timestampMs }: LocatedEvent,
  contacts: Contacts,
  pruned: readonly Pruned[],
): OpenAttempt {
  const { eventId, eventType, partyLocator, partyLocatorInvalid, traceId } = event
  return {
    locator: newLocator(),
    eventId,
    eventType,
    partyLocator,
    isPartyInvalid: partyLocatorInvalid,
    contact: contacts.get(partyLocator ?? ''),
    origin: { topic, partition, offset, traceId, envelopeMapRevision },
    variables: variablesOf(event),
    stored: null,
    isPruned: isPruned(pruned, offset, timestampMs),
    before: null,
    request: null,
  }
}
