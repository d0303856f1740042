import {
  type Attempt,
  afterDelivery,
  decideAttempt,
  decideAttempts,
  distinctParties,
  type OpenAttempt,
  outgoingMessages,
  probeAttempt,
  type RulesInForce,
  type StoredAttempts,
} from '../decide/attempt/attempt.ts'
import type { Deliveries, Delivery, Send } from '../decide/attempt/delivery.ts'
import type { RunStage } from '../decide/attempt/stage.ts'
import type { Move, Store, Transaction } from '../decide/attempt/store.ts'
import type { PreferencesByParty } from '../decide/party/preferences.ts'
import { CodedError } from '../text/error-codes.ts'
import type { Clock } from '../time/clock.ts'

/** Makes attempts. Dispatch, retry and requests have one each: a bad row of one must not slow the others. */
export interface AttemptMaker extends RulesInForce {
  readonly store: Store
  readonly send: Send
  readonly stage: RunStage
  readonly clock: Clock
  /** Called with the attempts of a transaction once it is committed, unless it made none. */
  readonly onCommit: (attempts: readonly Attempt[]) => void
  /** Set by a refusal, until a transaction refuses nothing. */
  mustProbe: boolean
}

/** A running transaction of attempts. */
export interface AttemptRun {
  readonly maker: AttemptMaker
  readonly tx: Transaction
  /** Refused rows must be found before anything is sent. */
  readonly mustProbe: boolean
  readonly startedMs: number
}

/** The attempts whose row or decision the database refuses, each with its error. */
export type Refusals = ReadonlyMap<Attempt, Error>

export interface AttemptsResult extends StoredAttempts {
  readonly refused: Refusals
}

const NO_MOVES: readonly Move[] = []
const NONE_REFUSED: Refusals = new Map()
const NOBODY: ReadonlySet<string> = new Set()
export const NO_ATTEMPTS: AttemptsResult = { attempts: [], unchanged: new Map(), refused: NONE_REFUSED }
/** The results of a send that may be written. */
const ACCEPTED: Delivery = { receipt: 'probe', error: null }
const NOT_ACCEPTED: Delivery = { receipt: null, error: 'probe' }
/** Number of rows of the batch to try, if the database refuses the probe, before the schema counts as the cause. */
const SAMPLE_COUNT_MAX = 100
/** After a longer time between the locks and the send, the preferences are read once more. */
const WRITE_MAX_MS = 100
/** A read that takes longer may be older than an opt-out that was acknowledged meanwhile: the attempts are made again. */
const READ_MAX_MS = 500

/**
 * Runs `work` in one transaction. Once the database refuses data, `work` runs again, and each next transaction finds the refused
 * rows before it sends anything, until one refuses nothing: decisions and retried rows are written after the send, so that a refusal
 * there would repeat the send each time. Rejects on any other error; nothing is written then.
 */
export async function transact<Result extends AttemptsResult>(
  maker: AttemptMaker,
  work: (run: AttemptRun) => Promise<Result>,
): Promise<Result> {
  if (!maker.mustProbe) {
    try {
      return await runOnce(maker, false, work)
    } catch (error) {
      if (!maker.store.refusesData(error)) throw error
      maker.mustProbe = true
    }
  }
  const result = await runOnce(maker, true, work)
  const isSound = result.attempts.length > 0 && result.refused.size === 0
  maker.mustProbe = !isSound
  return result
}

async function runOnce<Result extends AttemptsResult>(
  maker: AttemptMaker,
  mustProbe: boolean,
  work: (run: AttemptRun) => Promise<Result>,
): Promise<Result> {
  const result = await maker.store.transaction((tx) =>
    work({ maker, tx, mustProbe, startedMs: maker.clock.monotonicMs() }),
  )
  if (result.attempts.length > 0) maker.onCommit(result.attempts)
  return result
}

/**
 * Decides attempts under the locks. Leaves out those that the database refuses, if they must be found first.
 *
 * @param preferences must be read after the locks: an opt-out that was answered before them must be seen
 * @param moves the new positions of the locked checkpoints
 */
export async function decideAccepted(
  { maker, tx, mustProbe }: AttemptRun,
  open: readonly OpenAttempt[],
  preferences: PreferencesByParty,
  moves: readonly Move[] = NO_MOVES,
): Promise<{ readonly accepted: readonly Attempt[]; readonly refused: Refusals }> {
  const decided = decideAttempts(maker, open, preferences)
  const refused = mustProbe ? await findRefused(tx, decided, moves) : NONE_REFUSED
  return { accepted: decided.filter((attempt) => !refused.has(attempt)), refused }
}

/** Sends the messages of inserted or locked rows, then records the decisions and moves the checkpoints. */
export async function sendAndRecord(
  { maker, tx, startedMs }: AttemptRun,
  attempts: readonly Attempt[],
  preferences: PreferencesByParty,
  moves: readonly Move[] = NO_MOVES,
): Promise<StoredAttempts> {
  const { send, stage, clock, ruleTable } = maker
  const writtenMs = clock.monotonicMs()
  const isLate = writtenMs - startedMs > WRITE_MAX_MS
  const current = isLate ? await tx.readPreferences(distinctParties(attempts)) : preferences
  if (clock.monotonicMs() - writtenMs > READ_MAX_MS)
    throw new CodedError('ETIMEDOUT', `preferences were not read within ${READ_MAX_MS / 1_000} s`)
  const changed = findChanged(attempts, preferences, current)
  // Nothing comes between this read and the send, so that a party who never stops changing them holds up nobody.
  const latest = attempts.map((attempt) =>
    hasPartyIn(changed, attempt) ? decideAttempt(maker, attempt, current) : attempt,
  )
  const messages = outgoingMessages(latest)
  const deliveries = await stage('send', messages, () => tx.handOver((query) => send(messages, query)))
  const stored = afterDelivery(latest, deliveries)
  // After the send, because the row of a deferred retry stays unchanged.
  await recordAll(tx, stored.attempts, deliveries, ruleTable.revision, moves, changed)
  return stored
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

const hasPartyIn = (parties: ReadonlySet<string>, { partyLocator }: Attempt): boolean =>
  partyLocator !== null && parties.has(partyLocator)
const isRetry = ({ kind }: Attempt): boolean => kind !== 'first'
const isFirst = ({ kind }: Attempt): boolean => kind === 'first'

/**
 * Finds the attempts whose rows or decisions the database refuses, in savepoints that are rolled back: the part to try doubles
 * after each one that is accepted, and is halved after each one that is not. So one refused attempt costs few tries, and a batch of
 * refused ones little more than a try for each. Throws if the schema is at fault, before or at the end.
 */
async function findRefused(
  tx: Transaction,
  attempts: readonly Attempt[],
  moves: readonly Move[],
): Promise<Refusals> {
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

/** Writes what an attempt writes, with the same delivery for each message that has an address. */
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
  const isWritten = (attempt: Attempt) => isFirst(attempt) && !hasPartyIn(changed, attempt)
  await tx.updateEntries(
    attempts.filter((attempt) => !isWritten(attempt)),
    deliveries,
  )
  await tx.markSendFailures(attempts.filter(isWritten), deliveries)
  await tx.recordDecisions(attempts, deliveries, ruleTableRevision, moves)
}
