import type { Hold } from '../../model/request/hold.ts'
import type { End, Progress } from '../../model/request/request.ts'
import type { TakenRequest } from '../../model/request/schemas.ts'
import type { TakenIds } from '../event/conflict.ts'
import type { Checkpoint, TopicPartition } from '../event/position.ts'
import type { RedriveResult, RejectedMessage } from '../event/rejected-message.ts'
import type { PreferencesByParty } from '../party/preferences.ts'
import type { Attempt, LockedRow } from './attempt.ts'
import type { Deliveries, Query } from './delivery.ts'
import type { RetryEntry } from './retry-entry.ts'

/** The attempt's view of the database. PostgreSQL implements it (store/write/postgres-store.ts); tests also have one in memory. */
export interface Store {
  /** Commits when `work` resolves, and rolls back when it rejects. */
  transaction<Result>(work: (tx: Transaction) => Promise<Result>): Promise<Result>
  /** The holds in force, oldest first. */
  readHolds(): Promise<readonly Hold[]>
  /** True if the database refuses the data itself: no retry can succeed. */
  refusesData(error: unknown): boolean
  /** True if the work can be repeated from its look-ups on: another transaction won, or a plan was outdated. */
  isWorthRestart(error: unknown): boolean
}

/** New position of a partition's checkpoint. */
export type Move = TopicPartition & Checkpoint

export interface LockedCheckpoints {
  /** Offsets by `partitionKey`. */
  readonly offsets: ReadonlyMap<string, bigint>
  readonly preferences: PreferencesByParty
}

export interface InsertResult {
  readonly inserted: readonly Attempt[]
  /** The existing rows of the events that were not inserted. */
  readonly taken: TakenIds
  /** The holds in force; empty if there was nothing to insert. */
  readonly holds: readonly Hold[]
}

export interface Transaction {
  /**
   * Locks the checkpoints of partitions, and reads preferences as `readPreferences` after it. Waits for a single checkpoint, and
   * returns -1 if it has no row. With several, omits those without a row or locked by another transaction. From then on, a new hold
   * waits for the end of the transaction.
   */
  lockCheckpoints(
    partitions: readonly TopicPartition[],
    partyLocators: readonly string[],
  ): Promise<LockedCheckpoints>
  /**
   * Locks rows unchanged since they were read, and returns them by locator. Leaves out rows that another transaction locks,
   * erased rows, and rows that their decisions do not explain.
   *
   * @param isRequested also leaves out rows whose party was ever erased: the row's or, if its message was read again, the new one
   */
  lockEntries(due: readonly RetryEntry[], isRequested: boolean): Promise<ReadonlyMap<string, LockedRow>>
  /** Protects a rejected message from erasure until the transaction ends; false if it is already gone. */
  lockRejected(id: bigint): Promise<boolean>
  /**
   * Locks a request; false if it has ended, another replica has processed its page, or its reason was erased. Waits for another
   * transaction.
   */
  lockRequest(request: Pick<TakenRequest, 'id' | 'progress' | 'because'>): Promise<boolean>
  /** The holds in force. One that starts later waits for the end of the transaction before it is acknowledged. */
  readHolds(): Promise<readonly Hold[]>
  /** Sees every change committed before this call. */
  readPreferences(partyLocators: readonly string[]): Promise<PreferencesByParty>
  /** Inserts rows, ordered by event id, for the events that have none. */
  insertEntries(attempts: readonly Attempt[]): Promise<InsertResult>
  /**
   * Runs `send`, with its statements one by one, none after it has settled. A statement that the database refuses is undone
   * alone. Rejects if one loses against another transaction.
   */
  handOver<Result>(send: (query: Query) => Promise<Result>): Promise<Result>
  /** Updates rows that the transaction has locked or inserted. */
  updateEntries(attempts: readonly Attempt[], deliveries: Deliveries): Promise<void>
  /** Skips messages that are already stored. */
  insertRejected(partition: TopicPartition, rejected: readonly RejectedMessage[]): Promise<void>
  /** Sets inserted rows to FAILED if their messages were not accepted. */
  markSendFailures(inserted: readonly Attempt[], deliveries: Deliveries): Promise<void>
  /** Appends a decision for each attempt, and moves checkpoints, which must be locked. */
  recordDecisions(
    attempts: readonly Attempt[],
    deliveries: Deliveries,
    ruleTableRevision: string,
    moves: readonly Move[],
  ): Promise<void>
  recordRedrive(rejectedId: bigint, by: string, result: RedriveResult): Promise<void>
  /** Writes the progress of a locked request; `end` ends it. */
  recordProgress(id: string, progress: Progress, end: End | null): Promise<void>
  /** Runs `work` and rolls it back. Returns the database's error if it refuses the data, else null. */
  tryOut(work: (tx: Transaction) => Promise<unknown>): Promise<Error | null>
}
