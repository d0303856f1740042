import type { RejectedMessage } from '../batch/batch.ts'
import type { Checkpoint, TopicPartition } from '../batch/position.ts'
import type { RedriveResult } from '../event/rejected-message.ts'
import type { PreferencesByParty } from '../party/preferences.ts'
import type { Attempt, LockedRow } from './attempt.ts'
import type { Deliveries, Query } from './delivery.ts'
import type { DueEntry } from './due-entry.ts'

/** The database as an attempt uses it. `postgres/` implements it; the tests also have one in memory. */
export interface Store {
  /** Commits when `work` resolves, and rolls back when it rejects. */
  transaction<Result>(work: (tx: Transaction) => Promise<Result>): Promise<Result>
  /** True if the database refuses the data itself: no retry can succeed. */
  refusesData(error: unknown): boolean
}

/** The place that a partition's checkpoint moves to. */
export type Move = TopicPartition & Checkpoint

export interface Transaction {
  /** Locks the checkpoint of a partition; -1 where there is none. */
  lockCheckpoint(partition: TopicPartition): Promise<bigint>
  /**
   * Locks the rows that nobody changed since they were read. Leaves out those that another transaction holds, that were erased,
   * or whose decisions do not explain them. Returns the others by locator.
   *
   * @param isRequested leaves out the rows of parties that were ever erased, too
   */
  lockEntries(due: readonly DueEntry[], isRequested: boolean): Promise<ReadonlyMap<string, LockedRow>>
  /** Keeps a rejected message from being erased until the transaction ends; false if it is gone already. */
  lockRejected(id: bigint): Promise<boolean>
  /** Sees every change that was committed before this call. */
  readPreferences(partyLocators: readonly string[]): Promise<PreferencesByParty>
  /** Inserts rows, given in the order of their event ids. Returns those whose event had none. */
  insertEntries(attempts: readonly Attempt[]): Promise<readonly Attempt[]>
  /**
   * Runs `send`, whose statements run one by one. A statement that the database refuses is undone alone. Rejects if one of them
   * lost against another transaction. Once `send` has settled, no statement runs.
   */
  handOver<Result>(send: (query: Query) => Promise<Result>): Promise<Result>
  /** Updates rows whose locks are held. */
  updateEntries(attempts: readonly Attempt[], deliveries: Deliveries): Promise<void>
  /** Leaves messages that are stored already as they are. */
  insertRejected(partition: TopicPartition, rejected: readonly RejectedMessage[]): Promise<void>
  /** Sets inserted rows to FAILED whose messages were not accepted. */
  markSendFailures(inserted: readonly Attempt[], deliveries: Deliveries): Promise<void>
  /** Appends a decision for each attempt, and moves the checkpoint, whose lock is held. */
  recordDecisions(
    attempts: readonly Attempt[],
    deliveries: Deliveries,
    ruleTableRevision: string,
    move: Move | null,
  ): Promise<void>
  recordRedrive(rejectedId: bigint, by: string, result: RedriveResult): Promise<void>
  /** Runs `work` and rolls it back. Returns an error in the database's words if it refuses the data, else null. */
  tryOut(work: (tx: Transaction) => Promise<unknown>): Promise<Error | null>
}
