import type { CommonQueryMethods, DatabasePool } from 'slonik'
import type { CommitResult, DecidedChunk } from '../core/chunk.ts'
import type { Entry } from '../core/entry.ts'
import { REJECTIONS } from '../core/event.ts'
import { lockCheckpoint, moveCheckpoint } from './checkpoints.ts'
import { type Delivery, insertDecisions, insertEntries, markSendFailures } from './entries.ts'
import { refusesData } from './errors.ts'
import { findRefused } from './find-refused.ts'
import { insertRejectedMessages } from './rejected-messages.ts'

/** Hands rows to the senders; resolves to what became of each, by locator. Must not reject. */
export type Deliver = (inserted: readonly Entry[]) => Promise<ReadonlyMap<string, Delivery>>

/**
 * Writes one chunk in one transaction: fence, log rows, rejected messages, sends, decisions, checkpoint. Only rows that
 * were really inserted are sent. Where PostgreSQL itself refuses a row, all messages of the chunk that are its event
 * are rejected; every other error rejects and leaves nothing behind.
 */
export async function commitChunk(
  pool: DatabasePool,
  chunk: DecidedChunk,
  deliver: Deliver,
): Promise<CommitResult> {
  return commitAccepted(pool, chunk, async (tx, accepted): Promise<CommitResult> => {
    const { topic, partition } = accepted
    const checkpoint = await lockCheckpoint(tx, topic, partition)
    if (checkpoint !== accepted.heldOffset) return { kind: 'moved', checkpoint }
    const inserted = await writeRows(tx, accepted, deliver)
    await moveCheckpoint(tx, topic, partition, accepted.nextOffset, accepted.lastMessage)
    return { kind: 'committed', inserted, rejected: accepted.rejected }
  })
}

/** Writes a chunk in one transaction; where PostgreSQL refuses rows of it, in another one that rejects their messages. */
export async function commitAccepted<Result>(
  pool: DatabasePool,
  chunk: DecidedChunk,
  write: (tx: CommonQueryMethods, chunk: DecidedChunk) => Promise<Result>,
): Promise<Result> {
  try {
    return await pool.transaction((tx) => write(tx, chunk))
  } catch (error) {
    if (!refusesData(error)) throw error
    return await pool.transaction(async (tx) =>
      write(tx, withoutRefused(chunk, await findRefused(tx, chunk.entries, chunk))),
    )
  }
}

/** Log rows, rejected messages, sends and decisions, in this order. Returns the rows that were really inserted. */
export async function writeRows(
  tx: CommonQueryMethods,
  chunk: DecidedChunk,
  deliver: Deliver,
): Promise<readonly Entry[]> {
  const inserted = await insertEntries(tx, chunk.entries)
  await insertRejectedMessages(tx, chunk.topic, chunk.partition, chunk.rejected)
  const deliveries = await deliver(inserted)
  await markSendFailures(tx, deliveries)
  await insertDecisions(tx, inserted, deliveries, chunk)
  return inserted
}

function withoutRefused(chunk: DecidedChunk, refused: ReadonlyMap<string, string>): DecidedChunk {
  const rejected = chunk.entries.flatMap((entry) => {
    const cause = refused.get(entry.locator)
    if (cause === undefined) return []
    const error = `${REJECTIONS['refused-by-database']}: ${cause}`
    return chunk
      .messagesOf(entry.event.eventId)
      .map((message) => ({ message, rejection: { code: 'refused-by-database' as const, error } }))
  })
  return {
    ...chunk,
    entries: chunk.entries.filter((entry) => !refused.has(entry.locator)),
    rejected: [...chunk.rejected, ...rejected],
  }
}
