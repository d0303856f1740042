import type { CommonQueryMethods, DatabasePool, DatabaseTransactionConnection } from 'slonik'
import type { CommitResult, DecidedBatch, PreparedBatch } from '../../core/batch/batch.ts'
import { decideBatch } from '../../core/batch/decide-batch.ts'
import { REJECTIONS } from '../../core/event/rejection.ts'
import type { Entry } from '../../core/log/compose-entry.ts'
import { afterDelivery, messagesOfEntries, type Send } from '../../core/log/delivery.ts'
import { databaseMessage, refusesData } from '../connection/errors.ts'
import { lookUpPreferences } from '../read/look-up-preferences.ts'
import { lockCheckpoint, moveCheckpoint } from './checkpoints.ts'
import { findRefused } from './find-refused.ts'
import { insertDecisions } from './insert-decisions.ts'
import { insertEntries } from './insert-entries.ts'
import { insertRejectedMessages } from './insert-rejected-messages.ts'
import { markSendFailures } from './mark-send-failures.ts'
import { probeEntry } from './probe-entry.ts'

/**
 * Decides and writes one batch in one transaction: fence, preferences, decisions, log rows, rejected messages, sends,
 * checkpoint. Only rows that were really inserted are sent. Where PostgreSQL itself refuses a row, all messages of the
 * batch that are its event are rejected; every other error rejects and leaves nothing behind.
 */
export async function commitBatch(
  pool: DatabasePool,
  batch: PreparedBatch,
  send: Send,
): Promise<CommitResult> {
  const { topic, partition, heldOffset, nextOffset, lastMessage } = batch
  return commitAccepted(pool, batch, async (tx, decide): Promise<CommitResult> => {
    const checkpoint = await lockCheckpoint(tx, topic, partition)
    if (checkpoint !== heldOffset) return { kind: 'moved', checkpoint }
    const decided = await decide()
    const inserted = await writeRows(tx, decided, send)
    await moveCheckpoint(tx, topic, partition, nextOffset, lastMessage)
    return { kind: 'committed', nextOffset, inserted, rejected: decided.rejected }
  })
}

/**
 * Runs `write` in a transaction, in which it calls `decide` once it holds its locks. Where PostgreSQL refuses rows, runs it
 * in another transaction, in which `decide` rejects their messages.
 */
export async function commitAccepted<Result>(
  pool: DatabasePool,
  batch: PreparedBatch,
  write: (tx: CommonQueryMethods, decide: () => Promise<DecidedBatch>) => Promise<Result>,
): Promise<Result> {
  const decideIn = async (tx: CommonQueryMethods) =>
    decideBatch(batch, await lookUpPreferences(tx, batch.partyLocators))
  try {
    return await pool.transaction((tx) => write(tx, () => decideIn(tx)))
  } catch (error) {
    if (!refusesData(error)) throw error
    return await pool.transaction((tx) =>
      write(tx, async () => {
        const decided = await decideIn(tx)
        return withoutRefused(decided, await findRefusedEntries(tx, decided))
      }),
    )
  }
}

function findRefusedEntries(
  tx: DatabaseTransactionConnection,
  batch: DecidedBatch,
): Promise<ReadonlyMap<Entry, Error>> {
  const write = async (savepoint: CommonQueryMethods, part: readonly Entry[]) => {
    await insertEntries(savepoint, part)
    await insertDecisions(savepoint, part, new Map(), batch)
  }
  return findRefused(tx, batch.entries, write, (savepoint) => write(savepoint, [probeEntry()]))
}

/** Log rows, rejected messages, sends and decisions, in this order. Returns the inserted rows as they are stored. */
export async function writeRows(
  tx: CommonQueryMethods,
  batch: DecidedBatch,
  send: Send,
): Promise<readonly Entry[]> {
  const inserted = await insertEntries(tx, batch.entries)
  await insertRejectedMessages(tx, batch.topic, batch.partition, batch.rejected)
  const deliveries = await send(messagesOfEntries(inserted))
  await markSendFailures(tx, deliveries)
  await insertDecisions(tx, inserted, deliveries, batch)
  return afterDelivery(inserted, deliveries, ({ locator }) => locator)
}

function withoutRefused(batch: DecidedBatch, refused: ReadonlyMap<Entry, Error>): DecidedBatch {
  const rejected = [...refused].flatMap(([entry, cause]) => {
    const error = `${REJECTIONS['refused-by-database']}: ${databaseMessage(cause)}`
    return batch
      .messagesOf(entry.event.eventId)
      .map((message) => ({ message, rejection: { code: 'refused-by-database' as const, error } }))
  })
  return {
    ...batch,
    entries: batch.entries.filter((entry) => !refused.has(entry)),
    rejected: [...batch.rejected, ...rejected],
  }
}
