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
 * were really inserted are sent. A row that PostgreSQL itself refuses becomes a rejected message; every other error
 * rejects and leaves nothing behind.
 */
export async function commitChunk(
  pool: DatabasePool,
  chunk: DecidedChunk,
  deliver: Deliver,
): Promise<CommitResult> {
  try {
    return await pool.transaction((tx) => write(tx, chunk, deliver))
  } catch (error) {
    if (!refusesData(error)) throw error
    return await pool.transaction(async (tx) => {
      await lockCheckpoint(tx, chunk.topic, chunk.partition)
      return write(tx, withoutRefused(chunk, await findRefused(tx, chunk.entries, chunk)), deliver)
    })
  }
}

async function write(tx: CommonQueryMethods, chunk: DecidedChunk, deliver: Deliver): Promise<CommitResult> {
  const { topic, partition } = chunk
  const checkpoint = await lockCheckpoint(tx, topic, partition)
  if (checkpoint !== chunk.heldOffset) return { kind: 'moved', checkpoint }
  const locators = await insertEntries(tx, chunk.entries)
  await insertRejectedMessages(tx, topic, partition, chunk.rejected)
  const inserted = chunk.entries.filter((entry) => locators.has(entry.locator))
  const deliveries = await deliver(inserted)
  await markSendFailures(tx, deliveries)
  await insertDecisions(tx, inserted, deliveries, chunk)
  await moveCheckpoint(tx, topic, partition, chunk.nextOffset)
  return { kind: 'committed', inserted, rejected: chunk.rejected }
}

function withoutRefused(chunk: DecidedChunk, refused: ReadonlyMap<string, string>): DecidedChunk {
  const rejected = chunk.entries.flatMap((entry) => {
    const cause = refused.get(entry.locator)
    if (cause === undefined) return []
    const error = `${REJECTIONS['refused-by-database']}: ${cause}`
    return [
      { message: chunk.messageAt(entry.offset), rejection: { code: 'refused-by-database' as const, error } },
    ]
  })
  return {
    ...chunk,
    entries: chunk.entries.filter((entry) => !refused.has(entry.locator)),
    rejected: [...chunk.rejected, ...rejected],
  }
}
