import type { Logger } from 'pino'
import { distinctParties, type OpenAttempt, toLoggedRow } from '../core/attempt/attempt.ts'
import type { Move } from '../core/attempt/store.ts'
import type { Batch, CommitResult, Dispatch, FindLogged, LoggedEvents } from '../core/batch/batch.ts'
import { type LocatedEvent, parseBatch, type Reading } from '../core/batch/parse-batch.ts'
import type { RunStage } from '../core/batch/stage.ts'
import { isPruned, type Pruned } from '../core/decision/skip-pruned.ts'
import { describeConflict, findConflict, findDifferences } from '../core/event/conflict.ts'
import { type Message, messageBytes } from '../core/event/message.ts'
import { type Parsed, pickVariables } from '../core/event/parse-event.ts'
import { type Fingerprint, partitionKey } from '../core/event/position.ts'
import { REJECTIONS, type RejectedMessage } from '../core/event/rejection.ts'
import type { Contacts } from '../core/party/contact.ts'
import type { StartTimer } from '../core/time/timer.ts'
import type { MakeAttempts, Unwritten } from './attempt.ts'

const NONE_LOGGED: LoggedEvents = { rows: new Map(), pruned: [] }

export interface LookUpNeeds {
  /** Called once per batch. */
  readonly parserFor: (topic: string) => (message: Message) => Parsed
  /** Revision of the envelope map with which `parse` reads. */
  readonly envelopeMapRevision: string
  /** Parses as the envelope map of this revision does for the topic; null: the current one. */
  readonly parseBy: (
    topic: string,
    message: Message,
    envelopeMapRevision: string | null,
  ) => Promise<Parsed> | Parsed
  readonly findLogged: FindLogged
  /** Contacts, requested in the order of the parties. Parties not asked in time are left out, except the first. */
  readonly lookUpContacts: (partyLocators: readonly string[]) => Promise<Contacts>
  readonly newLocator: () => string
  readonly takeFingerprint: (message: Message) => Fingerprint
  readonly stage: RunStage
}

export interface DispatchNeeds extends LookUpNeeds {
  readonly attempt: MakeAttempts
  /** True if another transaction won, so that the batch starts again from its look-ups. */
  readonly isTransactionRollback: (error: unknown) => boolean
  readonly countRestart: () => void
  readonly startTimer: StartTimer
  readonly nowMs: () => number
  readonly log: Logger
}

export interface LookedUpBatch {
  /** The batch, cut before the first event whose party was not asked in time. */
  readonly batch: Batch
  /** Attempts for the events without a log row. */
  readonly open: readonly OpenAttempt[]
  readonly rejected: readonly RejectedMessage[]
  readonly tombstoneCount: number
  /** Ids of several messages. */
  readonly repeated: ReadonlySet<string>
  /** All messages with this id. */
  readonly readings: (eventId: string) => readonly Reading[]
}

const RESTART_COUNT_MAX = 5
/** A batch below both limits may share a transaction with those of other partitions: it costs about as much as one event. */
const SMALL_COUNT_MAX = 100
const SMALL_BYTES_MAX = 64 * 1024
/** Maximum time that a small batch waits for the look-ups of other partitions. */
const SHARE_WAIT_MS = 5
/**
 * A partition whose transaction took longer has its own until one takes less: it must not hold up the others again and again. After
 * a slow shared transaction that is each of its partitions.
 */
const SLOW_MS = 500

/** At most one warning about conflicts in this time. */
const CONFLICT_WARNING_MS = 60_000

/** The shared transaction did not commit this batch: it needs its own. */
class NotShared extends Error {}

/**
 * Returns the function that takes a batch through the pipeline: parse, look up, then the transaction of `attempt.ts` under the
 * lock of the partition's checkpoint. Small batches of several partitions share a transaction, except those of a partition
 * whose last one failed or was slow. It rejects on infrastructure errors, never because of a message's content.
 */
export function createDispatch(needs: DispatchNeeds): Dispatch {
  const { attempt, stage, isTransactionRollback, countRestart, startTimer, nowMs, log } = needs
  const shared = createSharedCommits(attempt, startTimer)
  /** Partitions whose last transaction failed or was slow: the next one is their own. */
  const alone = new Set<string>()
  const warnOfConflicts = createConflictWarning(nowMs, log)

  async function commit(batch: Batch, run: () => Promise<CommitResult>): Promise<CommitResult> {
    const startMs = nowMs()
    const result = await stage('commit', batch, run)
    if (result.kind === 'committed' && result.rejected.length > 0) warnOfConflicts(batch, result.rejected)
    const isSlow = nowMs() - startMs >= SLOW_MS
    alone[isSlow ? 'add' : 'delete'](partitionKey(batch))
    return result
  }

  async function dispatchOnce(batch: Batch, isAlone: boolean): Promise<CommitResult> {
    if (isAlone) {
      const lookedUp = await lookUpBatch(needs, batch)
      return commit(batch, () => commitBatch(attempt, lookedUp))
    }
    const announced = shared.announce()
    const lookedUp = await lookUpBatch(needs, batch).catch((error) => {
      announced.withdraw()
      throw error
    })
    return commit(batch, () => announced.join(lookedUp))
  }

  return (batch) =>
    stage('batch', batch, async () => {
      const key = partitionKey(batch)
      let isAlone = alone.has(key) || !isSmall(batch)
      for (let restartCount = 0; ; ) {
        try {
          return await dispatchOnce(batch, isAlone)
        } catch (error) {
          alone.add(key)
          // Also the cause of a shared transaction's failure.
          if (isTransactionRollback(error)) {
            countRestart()
            restartCount++
          }
          if (error instanceof NotShared) {
            isAlone = true
            log.debug({ err: error, topic: batch.topic, partition: batch.partition }, error.message)
          } else if (!isTransactionRollback(error) || restartCount === RESTART_COUNT_MAX) throw error
        }
      }
    })
}

/** Warns of messages whose event id has the row of another one: of the first at once, of later ones once a minute. */
function createConflictWarning(nowMs: () => number, log: Logger) {
  let lastMs = Number.NEGATIVE_INFINITY
  let count = 0
  return ({ topic, partition }: Batch, rejected: readonly RejectedMessage[]): void => {
    const conflicts = rejected.filter(({ rejection }) => rejection.code === 'conflict')
    const [example] = conflicts
    count += conflicts.length
    if (example === undefined || nowMs() - lastMs < CONFLICT_WARNING_MS) return
    const { message, rejection } = example
    log.warn(
      { count, topic, partition, offset: String(message.offset), error: rejection.error },
      'messages have the event id of another one: their members are not told; see `rejected list --code conflict`',
    )
    lastMs = nowMs()
    count = 0
  }
}

function isSmall({ messages }: Batch): boolean {
  if (messages.length > SMALL_COUNT_MAX) return false
  return messages.reduce((bytes, message) => bytes + messageBytes(message), 0) <= SMALL_BYTES_MAX
}

interface Member {
  readonly lookedUp: LookedUpBatch
  readonly resolve: (result: CommitResult) => void
  readonly reject: (error: unknown) => void
}

/** Commits batches together whose look-ups end at about the same time. */
function createSharedCommits(attempt: MakeAttempts, startTimer: StartTimer) {
  let expectedCount = 0
  let members: Member[] = []
  let stopTimer = () => {}

  async function commit(): Promise<void> {
    const together = members
    members = []
    stopTimer()
    try {
      const results = await commitBatches(
        attempt,
        together.map(({ lookedUp }) => lookedUp),
      )
      for (const [i, { resolve, reject }] of together.entries()) {
        const result = results[i]
        if (result != null) resolve(result)
        else reject(new NotShared('another session locks the checkpoint'))
      }
    } catch (cause) {
      const error = together.length === 1 ? cause : new NotShared('the shared transaction failed', { cause })
      for (const { reject } of together) reject(error)
    }
  }

  function arrived(): void {
    expectedCount--
    if (members.length > 0 && expectedCount === 0) void commit()
  }

  return {
    /** Tells that a batch is being looked up. Either of the returned functions is called once. */
    announce: () => {
      expectedCount++
      return {
        withdraw: arrived,
        join: (lookedUp: LookedUpBatch): Promise<CommitResult> => {
          const { promise, resolve, reject } = Promise.withResolvers<CommitResult>()
          if (members.push({ lookedUp, resolve, reject }) === 1) stopTimer = startTimer(SHARE_WAIT_MS, commit)
          arrived()
          return promise
        },
      }
    },
  }
}

export async function lookUpBatch(needs: LookUpNeeds, batch: Batch): Promise<LookedUpBatch> {
  const { topic, partition } = batch
  const { stage, findLogged, lookUpContacts } = needs
  const parsed = parseBatch(needs.parserFor(topic), batch.messages)
  const { events, tombstones, repeated } = parsed
  const eventIds = events.map(({ event }) => event.eventId)
  const { rows, pruned } =
    events.length === 0
      ? NONE_LOGGED
      : await stage('look_up', eventIds, () => findLogged({ topic, partition, eventIds }))
  const fresh = rows.size === 0 ? events : events.filter(({ event }) => !rows.has(event.eventId))
  const conflicts = rows.size === 0 ? [] : await findConflicts(needs, batch, parsed.readings, rows)
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
      const readBy = (revision: string | null) => parseBy(topic, message, revision)
      const differences = await findConflict(row, place, event, readBy)
      if (differences.length > 0) conflicts.push({ message, rejection: describeConflict(row, differences) })
    }
  return conflicts
}

/** Makes the attempts of a batch and moves its checkpoint, under the checkpoint's lock. */
export async function commitBatch(attempt: MakeAttempts, lookedUp: LookedUpBatch): Promise<CommitResult> {
  const [result] = await commitBatches(attempt, [lookedUp])
  if (result == null) throw new Error('a checkpoint that was waited for is not locked')
  return result
}

/**
 * Makes the attempts of batches of different partitions in one transaction. Returns the result of each; null for one of several
 * whose checkpoint another session locks. A batch whose checkpoint was moved does not hold up the others.
 */
async function commitBatches(
  attempt: MakeAttempts,
  batches: readonly LookedUpBatch[],
): Promise<readonly (CommitResult | null)[]> {
  let offsets: ReadonlyMap<string, bigint> = new Map()
  let owned: readonly LookedUpBatch[] = []
  let rejected: ReadonlyMap<LookedUpBatch, readonly RejectedMessage[]> = new Map()
  const made = await attempt({
    lock: async (tx) => {
      const parties = distinctParties(batches.flatMap(({ open }) => open))
      const locked = await tx.lockCheckpoints(
        batches.map(({ batch }) => batch),
        parties,
      )
      offsets = locked.offsets
      owned = batches.filter(({ batch }) => offsets.get(partitionKey(batch)) === batch.expectedCheckpoint)
      if (owned.length === 0) return null
      const open = owned.flatMap((one) => one.open)
      return { open, moves: owned.map(toMove), preferences: locked.preferences }
    },
    reject: async (tx, unwritten) => {
      rejected = new Map(owned.map((lookedUp) => [lookedUp, collectRejected(lookedUp, unwritten)]))
      for (const [{ batch }, some] of rejected) await tx.insertRejected(batch, some)
    },
  })
  const inserted = Map.groupBy(made?.attempts ?? [], ({ origin }) => partitionKey(origin))
  return batches.map((lookedUp) => {
    const { batch, tombstoneCount } = lookedUp
    const key = partitionKey(batch)
    const checkpoint = offsets.get(key)
    if (checkpoint === undefined) return null
    if (made === null || !owned.includes(lookedUp)) return { kind: 'moved', checkpoint }
    return {
      kind: 'committed',
      lastOffset: batch.lastOffset,
      inserted: inserted.get(key) ?? [],
      rejected: rejected.get(lookedUp) ?? [],
      tombstoneCount,
    }
  })
}

function toMove({ batch: { topic, partition, lastOffset: offset, lastMessage } }: LookedUpBatch): Move {
  return { topic, partition, offset, lastMessage }
}

/**
 * The rejected messages of a batch, with all messages of the events that the database refuses, and those that differ from the row
 * of their id: another message of the batch, or of another partition meanwhile, has it.
 */
export function collectRejected(lookedUp: LookedUpBatch, { refused, taken }: Unwritten): RejectedMessage[] {
  const { batch, open, rejected, repeated, readings } = lookedUp
  const byDatabase = [...refused].flatMap(([{ eventId, origin }, { message: words }]) => {
    // Another partition of the shared transaction may have an event with the same id.
    if (partitionKey(origin) !== partitionKey(batch)) return []
    const error = `${REJECTIONS['refused-by-database']}: ${words}`
    const rejection = { code: 'refused-by-database' as const, error }
    return readings(eventId).map(({ message }) => ({ message, rejection }))
  })
  const all = [...rejected, ...byDatabase]
  if (repeated.size === 0 && taken.size === 0) return all
  const refusedOnes = new Set([...refused.keys()].map(({ locator }) => locator))
  for (const attempt of open) {
    if (refusedOnes.has(attempt.locator)) continue
    const row = taken.get(attempt.locator) ?? (repeated.has(attempt.eventId) ? toLoggedRow(attempt) : null)
    if (row === null) continue
    for (const { message, event } of readings(attempt.eventId)) {
      const differences = findDifferences(row, { ...batch, offset: message.offset }, event)
      if (differences.length > 0) all.push({ message, rejection: describeConflict(row, differences) })
    }
  }
  return all
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
    variables: pickVariables(event),
    stored: null,
    isPruned: isPruned(pruned, offset, timestampMs),
    before: null,
    request: null,
  }
}
