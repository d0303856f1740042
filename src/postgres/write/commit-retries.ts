import type { DatabasePool, DatabaseTransactionConnection } from 'slonik'
import type { Entry } from '../../core/log/compose-entry.ts'
import type { PreparedRetries, RetriedEntry } from '../../core/log/decide-retry.ts'
import { afterDelivery, messagesOfRetries, type Send } from '../../core/log/delivery.ts'
import { databaseMessage } from '../connection/errors.ts'
import { lookUpPreferences } from '../read/look-up-preferences.ts'
import { shareErasure } from '../retention/erasure-record.ts'
import { findRefused, writeUnlessRefused } from './find-refused.ts'
import { insertDecisions } from './insert-decisions.ts'
import { insertEntries } from './insert-entries.ts'
import { insertRetryDecisions } from './insert-retry-decisions.ts'
import { lockDueEntries } from './lock-due-entries.ts'
import { markSendFailures } from './mark-send-failures.ts'
import { probeEntry } from './probe-entry.ts'
import { recordDeliveries } from './record-deliveries.ts'
import { updateRetriedEntries } from './update-retried-entries.ts'

/** Where a row that PostgreSQL refuses is reported. */
interface RefusalLog {
  error(fields: { locator: string; error: string }, message: string): void
}

/**
 * Carries out retries in one transaction: lock, read preferences, decide, update, append the decisions, send, note the
 * receipts. A row that another replica holds, that has changed since it was read, or that no decision explains is left alone and not sent. Rows that
 * PostgreSQL refuses are found before anything is sent: they stay as they are and are logged. Returns the retries
 * that were made, as they are stored. Rejects on every other error, and where the schema refuses any row, or what a
 * sender said: then none was made.
 */
export function commitRetries(
  pool: DatabasePool,
  prepared: PreparedRetries,
  send: Send,
  log: RefusalLog,
): Promise<readonly RetriedEntry[]> {
  return pool.transaction(async (tx) => {
    // No text may come back to a row that is erased meanwhile: a skipped one has none that the erasure would wait for.
    if (prepared.request !== null) await shareErasure(tx)
    const accepted = await writeAccepted(tx, prepared, log)
    if (accepted.length === 0) return []
    const deliveries = await send(messagesOfRetries(accepted))
    await markSendFailures(tx, deliveries)
    await recordDeliveries(tx, accepted, deliveries)
    return afterDelivery(accepted, deliveries, ({ due }) => due.locator)
  })
}

/** Locks, decides and writes the rows that PostgreSQL takes, with their decisions, logs those it refuses, and returns those written. */
async function writeAccepted(
  tx: DatabaseTransactionConnection,
  prepared: PreparedRetries,
  log: RefusalLog,
): Promise<readonly RetriedEntry[]> {
  const { asked, decide } = prepared
  const lockAndDecide = async (savepoint: DatabaseTransactionConnection) => {
    const locked = await lockDueEntries(savepoint, prepared)
    const mine = asked.filter(({ due }) => locked.has(due.locator))
    const parties = [...new Set(mine.flatMap(({ due }) => due.partyLocator ?? []))]
    const preferences = await lookUpPreferences(savepoint, parties)
    return mine.map((entry) => decide(entry, preferences.get(entry.due.partyLocator ?? '')))
  }
  const write = async (savepoint: DatabaseTransactionConnection, part: readonly RetriedEntry[]) => {
    await updateRetriedEntries(savepoint, part)
    await insertRetryDecisions(savepoint, part, prepared)
  }
  let mine: readonly RetriedEntry[] = []
  // Locked in the savepoint too: a row locked outside it would cost PostgreSQL a MultiXact when it is updated.
  const error = await writeUnlessRefused(tx, async (savepoint) => {
    mine = await lockAndDecide(savepoint)
    await write(savepoint, mine)
  })
  if (error === null) return mine
  mine = await lockAndDecide(tx)
  const refused = await findRefused(tx, mine, write, async (savepoint) => {
    const probe = probeEntry()
    await insertEntries(savepoint, [probe])
    const { ruleTableRevision } = prepared
    const provenance = { topic: 'probe', partition: 0, ruleTableRevision, envelopeMapRevision: 'probe' }
    await insertDecisions(savepoint, [probe], new Map(), provenance)
    await write(savepoint, [retryOf(probe)])
  })
  for (const [{ due }, error] of refused) {
    log.error(
      { locator: due.locator, error: databaseMessage(error) },
      'the database refused the retry of a row; the row stays unchanged, and the next pass retries it',
    )
  }
  const accepted = mine.filter((retry) => !refused.has(retry))
  await write(tx, accepted)
  return accepted
}

function retryOf({ locator, event, decision }: Entry): RetriedEntry {
  const { eventId, eventType, partyLocator } = event
  const due = {
    locator,
    eventId,
    eventType,
    partyLocator,
    subject: '',
    body: '',
    attemptCount: 0,
    sendCount: 0,
    unknownKey: null,
  }
  return { due, decision, status: 'FAILED', attemptCount: 1, address: null }
}
