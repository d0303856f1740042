import {
  type Attempt,
  afterDelivery,
  type Delivered,
  decideAttempt,
  decideAttempts,
  distinctParties,
  type OpenAttempt,
  outgoingMessages,
  probeAttempt,
  type RulesInForce,
} from '../decide/attempt/attempt.ts'
import type { Deliveries, Delivery, Send } from '../decide/attempt/delivery.ts'
import type { RunStage } from '../decide/attempt/stage.ts'
import type { Move, Store, Transaction } from '../decide/attempt/store.ts'
import type { TakenIds } from '../decide/event/conflict.ts'
import type { PreferencesByParty } from '../decide/party/preferences.ts'
import { CodedError } from '../text/error-codes.ts'

/** Asks for attempts: the steps of the transaction that differ between a batch, a retry and a redrive. */
export interface AttemptSource {
  /** Takes the locks and returns what to do under them, or null if other processes do it: then nothing is written. */
  lock(tx: Transaction): Promise<Locked | null>
  /** Called before anything is sent. */
  reject?(tx: Transaction, unwritten: Unwritten): Promise<void>
  /** Called last. */
  finish?(tx: Transaction, made: Made): Promise<void>
}

export interface Locked {
  readonly open: readonly OpenAttempt[]
  /** The new positions of the locked checkpoints; none for attempts that belong to no checkpoint. */
  readonly moves: readonly Move[]
  /** The preferences of the attempts' parties, if they were read with the locks. */
  readonly preferences?: PreferencesByParty
}

/** The attempts whose row or decision the database refuses, each with its error. */
export type Refused = ReadonlyMap<Attempt, Error>

/** Attempts that are not made. */
export interface Unwritten {
  readonly refused: Refused
  readonly taken: TakenIds
}

export interface Made extends Delivered {
  readonly refused: Refused
}

export type MakeAttempts = (source: AttemptSource) => Promise<Made | null>

export interface AttemptNeeds extends RulesInForce {
  readonly store: Store
  readonly send: Send
  readonly stage: RunStage
  readonly nowMs: () => number
}

const NO_MOVES: readonly Move[] = []
const NONE_REFUSED: Refused = new Map()
const NOBODY: ReadonlySet<string> = new Set()
export const NONE_MADE: Made = { attempts: [], unchanged: new Map(), refused: NONE_REFUSED }
/** What may be written about a message after the send. */
const ACCEPTED: Delivery = { receipt: 'probe', error: null }
const NOT_ACCEPTED: Delivery = { receipt: null, error: 'probe' }
/** Number of rows of the batch to try, if the database refuses the probe, before the schema counts as the cause. */
const SAMPLE_COUNT_MAX = 100
/** After a longer time between the locks and the send, the preferences are read once more. */
const WRITE_MAX_MS = 100
/** A read that takes longer may be older than an opt-out that was acknowledged meanwhile: the attempts are made again. */
const READ_MAX_MS = 1_000

/**
 * Makes attempts in one transaction; null if the source locks nothing. Once the database refuses data, each next transaction
 * finds the refused rows before it sends anything, until one refuses nothing: decisions and retried rows are written after the
 * send, so that a refusal there would repeat the send each time. Rejects on any other error; nothing is written then.
 */
export function createMakeAttempts(needs: AttemptNeeds): MakeAttempts {
  /** Set by a refusal, until a transaction refuses nothing. */
  let mustProbe = false
  return async (source) => {
    if (!mustProbe) {
      try {
        return await transact(needs, source, false)
      } catch (error) {
        if (!needs.store.refusesData(error)) throw error
        mustProbe = true
      }
    }
    const made = await transact(needs, source, true)
    const isSound = made !== null && made.attempts.length > 0 && made.refused.size === 0
    mustProbe = !isSound
    return made
  }
}

function transact(needs: AttemptNeeds, source: AttemptSource, mustProbe: boolean): Promise<Made | null> {
  const { store, send, ruleTable, stage, nowMs } = needs
  return store.transaction(async (tx) => {
    const startedMs = nowMs()
    const locked = await source.lock(tx)
    if (locked === null) return null
    const { open, moves } = locked
    // After the locks: an opt-out that was answered before them must be seen.
    const preferences = locked.preferences ?? (await tx.readPreferences(distinctParties(open)))
    const decided = decideAttempts(needs, open, preferences)
    const refused = mustProbe ? await findRefused(tx, decided, moves) : NONE_REFUSED
    const accepted = decided.filter((attempt) => !refused.has(attempt))
    // Events that got a row in the meantime are left out.
    const { inserted, taken } = await tx.insertEntries(accepted.filter(isFirst))
    await source.reject?.(tx, { refused, taken })
    const claimed = [...inserted, ...accepted.filter(isRetry)]
    const writtenMs = nowMs()
    const isLate = writtenMs - startedMs > WRITE_MAX_MS
    const current = isLate ? await tx.readPreferences(distinctParties(claimed)) : preferences
    if (nowMs() - writtenMs > READ_MAX_MS)
      throw new CodedError('ETIMEDOUT', `preferences were not read within ${READ_MAX_MS / 1_000} s`)
    const changed = findChanged(claimed, preferences, current)
    // Nothing comes between this read and the send, so that a party who never stops changing them holds up nobody.
    const latest = claimed.map((attempt) =>
      isOf(changed, attempt) ? decideAttempt(needs, attempt, current) : attempt,
    )
    const messages = outgoingMessages(latest)
    const deliveries = await stage('send', messages, () => tx.handOver((query) => send(messages, query)))
    const delivered = afterDelivery(latest, deliveries)
    // After the send, because the row of a deferred retry stays unchanged.
    await recordAll(tx, delivered.attempts, deliveries, ruleTable.revision, moves, changed)
    const made = { ...delivered, refused }
    await source.finish?.(tx, made)
    return made
  })
}

/** The parties whose preferences changed between two reads. */
function findChanged(
  attempts: readonly Attempt[],
  before: PreferencesByParty,
  after: PreferencesByParty,
): ReadonlySet<string> {
  if (before === after) return NOBODY
  const isChanged = (party: string) => after.get(party)?.changeId !== before.get(party)?.changeId
  return new Set(distinctParties(attempts).filter(isChanged))
}

const isOf = (parties: ReadonlySet<string>, { partyLocator }: Attempt): boolean =>
  partyLocator !== null && parties.has(partyLocator)
const isRetry = ({ before }: Attempt): boolean => before !== null
const isFirst = ({ before }: Attempt): boolean => before === null

/**
 * Finds the attempts whose rows or decisions the database refuses, in savepoints that are rolled back: the part to try doubles
 * after each one that is accepted, and is halved after each one that is not. So one refused attempt costs few tries, and a batch of
 * refused ones little more than a try for each. Throws if the schema is at fault, before or at the end.
 */
async function findRefused(
  tx: Transaction,
  attempts: readonly Attempt[],
  moves: readonly Move[],
): Promise<Refused> {
  if (attempts.length === 0) return NONE_REFUSED
  await requireSoundSchema(tx, attempts, moves)
  const refused = new Map<Attempt, Error>()
  let count = attempts.length
  for (let start = 0; start < attempts.length; ) {
    const part = attempts.slice(start, start + count)
    const error = await tryBothDeliveries(tx, part, NO_MOVES)
    const [only, ...others] = part
    if (error !== null && others.length > 0) {
      count = part.length >> 1
      continue
    }
    if (error === null) count *= 2
    else if (only !== undefined) refused.set(only, error)
    start += part.length
  }
  // A table or a right may have gone meanwhile, which refuses every row.
  if (refused.size > 0) {
    const accepted = attempts.filter((attempt) => !refused.has(attempt))
    await requireSoundSchema(tx, accepted, moves)
  }
  return refused
}

/**
 * Throws the database's error if it refuses a known-good row, as a new one and as a retry, and each of the first rows of the batch
 * too. Only here the checkpoints are moved: a refused move must not count as a fault of a row.
 */
async function requireSoundSchema(
  tx: Transaction,
  attempts: readonly Attempt[],
  moves: readonly Move[],
): Promise<void> {
  const locator = `NTF-probe-${crypto.randomUUID()}`
  const first = probeAttempt(locator, null)
  const second = probeAttempt(locator, { attemptCount: 0, sendCount: 0, unknownKey: null })
  const fault = await tx.tryOut(async (savepoint) => {
    await writeAll(savepoint, [first], ACCEPTED, NO_MOVES)
    await writeAll(savepoint, [second], ACCEPTED, moves)
  })
  if (fault === null) return
  // A trigger may refuse the probe for something that no real row has.
  for (const attempt of attempts.slice(0, SAMPLE_COUNT_MAX))
    if ((await tryBothDeliveries(tx, [attempt], moves)) === null) return
  throw fault
}

/** Tries to write attempts as if all messages were accepted, and as if none was. Returns the database's error if it refuses one. */
async function tryBothDeliveries(
  tx: Transaction,
  attempts: readonly Attempt[],
  moves: readonly Move[],
): Promise<Error | null> {
  const error = await tx.tryOut((savepoint) => writeAll(savepoint, attempts, ACCEPTED, moves))
  if (error !== null || outgoingMessages(attempts).length === 0) return error
  return tx.tryOut((savepoint) => writeAll(savepoint, attempts, NOT_ACCEPTED, moves))
}

/** Writes what `transact` writes, with the same delivery for each message that has an address. */
async function writeAll(
  tx: Transaction,
  attempts: readonly Attempt[],
  delivery: Delivery,
  moves: readonly Move[],
): Promise<void> {
  const { inserted } = await tx.insertEntries(attempts.filter(isFirst))
  const claimed = [...inserted, ...attempts.filter(isRetry)]
  const addressed = outgoingMessages(claimed).filter(({ to }) => to !== null)
  const deliveries = new Map(addressed.map(({ locator }) => [locator, delivery]))
  await recordAll(tx, afterDelivery(claimed, deliveries).attempts, deliveries, 'probe', moves, NOBODY)
}

/** @param changed parties whose new rows hold an earlier decision */
async function recordAll(
  tx: Transaction,
  attempts: readonly Attempt[],
  deliveries: Deliveries,
  ruleTableRevision: string,
  moves: readonly Move[],
  changed: ReadonlySet<string>,
): Promise<void> {
  const isWritten = (attempt: Attempt) => isFirst(attempt) && !isOf(changed, attempt)
  await tx.updateEntries(
    attempts.filter((attempt) => !isWritten(attempt)),
    deliveries,
  )
  await tx.markSendFailures(attempts.filter(isWritten), deliveries)
  await tx.recordDecisions(attempts, deliveries, ruleTableRevision, moves)
}
