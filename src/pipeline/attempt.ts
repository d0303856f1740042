import {
  type Attempt,
  afterDelivery,
  decideAttempts,
  messagesOf,
  type OpenAttempt,
  partiesOf,
  probeAttempt,
  type RulesInForce,
} from '../core/attempt/attempt.ts'
import type { Send } from '../core/attempt/delivery.ts'
import type { RunStage } from '../core/attempt/stage.ts'
import type { Move, Store, Transaction } from '../core/attempt/store.ts'
import type { PreferencesByParty } from '../core/party/preferences.ts'

/** The steps of the transaction that differ between dispatch, retry and redrive. */
export interface Claim {
  /** Takes the locks and returns the attempts, or null if another process makes them: then nothing is written. */
  lock(tx: Transaction): Promise<readonly OpenAttempt[] | null>
  /** Called before anything is written or sent. */
  reject?(tx: Transaction, refused: Refused): Promise<void>
  /** The checkpoint's new position; null for attempts that belong to no checkpoint. */
  readonly move: Move | null
  /** Called last. */
  finish?(tx: Transaction, made: Made): Promise<void>
}

/** The attempts whose row or decision the database refuses, each with its error. */
export type Refused = ReadonlyMap<Attempt, Error>

export interface Made {
  /** As they are stored. */
  readonly attempts: readonly Attempt[]
  readonly refused: Refused
}

export type MakeAttempts = (claim: Claim) => Promise<Made | null>

export interface AttemptNeeds extends RulesInForce {
  readonly store: Store
  readonly send: Send
  readonly stage: RunStage
  readonly nowMs: () => number
}

const NONE_REFUSED: Refused = new Map()
/** A write that takes longer may have waited for a lock, while opt-outs were answered. */
const WRITE_MAX_MS = 100
const TRY_COUNT_MAX = 5

/** Preferences changed while the rows were written: the attempts must be decided again. */
class PreferencesChanged extends Error {}

/**
 * Makes attempts in one transaction. If the database refuses data, a second transaction finds the refused rows before it sends
 * anything. The following transactions do the same until one finds nothing to refuse: decisions are recorded after the send, and
 * a refusal at that point would send again and again. Returns null if the claim is lost. Rejects on any other error; then
 * nothing is written.
 */
export function createAttempt(needs: AttemptNeeds): MakeAttempts {
  let isSuspect = false
  return async (claim) => {
    if (!isSuspect) {
      try {
        return await transactAgain(needs, claim, false)
      } catch (error) {
        if (!needs.store.refusesData(error)) throw error
        isSuspect = true
      }
    }
    const made = await transactAgain(needs, claim, true)
    const isSound = made !== null && made.attempts.length > 0 && made.refused.size === 0
    isSuspect = !isSound
    return made
  }
}

async function transactAgain(needs: AttemptNeeds, claim: Claim, isSuspect: boolean): Promise<Made | null> {
  for (let tryCount = 1; ; tryCount++) {
    try {
      return await transact(needs, claim, isSuspect)
    } catch (error) {
      if (!(error instanceof PreferencesChanged) || tryCount === TRY_COUNT_MAX) throw error
    }
  }
}

function transact(needs: AttemptNeeds, claim: Claim, isSuspect: boolean): Promise<Made | null> {
  const { store, send, ruleTable, stage, nowMs } = needs
  return store.transaction(async (tx) => {
    const open = await claim.lock(tx)
    if (open === null) return null
    const preferences = await tx.readPreferences(partiesOf(open))
    const readAtMs = nowMs()
    const decided = decideAttempts(needs, open, preferences)
    const refused = isSuspect ? await findRefused(tx, decided) : NONE_REFUSED
    await claim.reject?.(tx, refused)
    const accepted = decided.filter((attempt) => !refused.has(attempt))
    const written = await writeRows(tx, accepted)
    if (nowMs() - readAtMs > WRITE_MAX_MS) await requireUnchanged(tx, written, preferences)
    const messages = messagesOf(written)
    const deliveries = await stage('send', messages, () => send(messages))
    await tx.markSendFailures(deliveries)
    await tx.recordDecisions(written, deliveries, ruleTable.revision, claim.move)
    const made = { attempts: afterDelivery(written, deliveries), refused }
    await claim.finish?.(tx, made)
    return made
  })
}

/** Throws PreferencesChanged if a party's preferences are no longer those that decided. */
async function requireUnchanged(
  tx: Transaction,
  written: readonly Attempt[],
  decidedBy: PreferencesByParty,
): Promise<void> {
  const parties = partiesOf(written)
  const current = await tx.readPreferences(parties)
  const isChanged = (party: string) => current.get(party)?.changeId !== decidedBy.get(party)?.changeId
  if (parties.some(isChanged)) throw new PreferencesChanged('preferences changed while rows were written')
}

/** Returns the attempts whose rows were written. An event that got a row in the meantime is left out. */
async function writeRows(tx: Transaction, attempts: readonly Attempt[]): Promise<readonly Attempt[]> {
  const isRetry = ({ before }: Attempt) => before !== null
  const retries = attempts.filter(isRetry)
  await tx.updateEntries(retries)
  const inserted = await tx.insertEntries(attempts.filter((attempt) => !isRetry(attempt)))
  return [...inserted, ...retries]
}

/**
 * Finds the attempts whose rows or decisions the database refuses, by bisection in savepoints that are rolled back. A
 * known-good probe goes first: if it is refused, the schema is at fault, and that error is thrown.
 */
async function findRefused(tx: Transaction, attempts: readonly Attempt[]): Promise<Refused> {
  if (attempts.length === 0) return NONE_REFUSED
  const refused = new Map<Attempt, Error>()
  const bisect = async (part: readonly Attempt[]): Promise<void> => {
    const error = await tryOut(tx, part)
    if (error === null) return
    const [only, ...others] = part
    if (only !== undefined && others.length === 0) {
      refused.set(only, error)
      return
    }
    const middle = part.length >> 1
    await bisect(part.slice(0, middle))
    await bisect(part.slice(middle))
  }
  const schemaFault = await tryOutProbe(tx)
  if (schemaFault !== null) throw schemaFault
  await bisect(attempts)
  return refused
}

function tryOut(tx: Transaction, attempts: readonly Attempt[]): Promise<Error | null> {
  return tx.tryOut(async (savepoint) => {
    await writeRows(savepoint, attempts)
    await savepoint.recordDecisions(attempts, new Map(), 'probe', null)
  })
}

/** Writes a new row, and a retry of it. */
function tryOutProbe(tx: Transaction): Promise<Error | null> {
  const locator = `NTF-probe-${crypto.randomUUID()}`
  const first = probeAttempt(locator, null)
  const second = probeAttempt(locator, { attemptCount: 0, sendCount: 0, unknownKey: null })
  return tx.tryOut(async (savepoint) => {
    for (const attempt of [first, second]) {
      await writeRows(savepoint, [attempt])
      await savepoint.recordDecisions([attempt], new Map(), 'probe', null)
    }
  })
}
