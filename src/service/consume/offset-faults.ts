import type { Logger } from 'pino'
import { partitionKey } from '../decide/event/position.ts'
import type { CommittedOffset, DatabaseName } from './group-offsets.ts'

export type CommitFault =
  | { readonly kind: 'foreign'; readonly database: DatabaseName }
  /** The database has lost the rows of up to `count` messages. */
  | { readonly kind: 'lost'; readonly count: bigint }

/**
 * Compares a committed offset with the checkpoint, which must have been read after it. The service commits to Kafka only what the
 * database has committed, so that a checkpoint is never behind an offset of the same database.
 */
export function judgeCommitted(
  { next, database }: Pick<CommittedOffset, 'next' | 'database'>,
  ownId: string,
  checkpoint: bigint,
): CommitFault | null {
  if (database === null) return null
  if (database.id !== ownId) return { kind: 'foreign', database }
  const count = next - 1n - checkpoint
  return count > 0n ? { kind: 'lost', count } : null
}

/** Another database whose deployment uses the same consumer group, and the partitions whose offsets it committed. */
export interface ForeignDatabase extends DatabaseName {
  readonly partitions: readonly string[]
}

/** The databases of other deployments that commit offsets of this consumer group. */
export class ForeignDatabases {
  readonly #own: DatabaseName
  readonly #groupId: string
  readonly #log: Logger
  #found: readonly ForeignDatabase[] = []

  constructor(own: DatabaseName, groupId: string, log: Logger) {
    this.#own = own
    this.#groupId = groupId
    this.#log = log
  }

  /** Logs each database when it appears. */
  note(committed: readonly CommittedOffset[]): void {
    const [groupId, before] = [this.#groupId, this.#found]
    this.#found = listForeign(committed, this.#own.id)
    for (const database of this.#found)
      if (!before.some(({ id }) => id === database.id))
        this.#log.error({ groupId, remedy: FOREIGN_REMEDY }, describeForeign(database, this.#own, groupId))
    if (before.length > 0 && this.#found.length === 0)
      this.#log.info({ groupId }, 'no other database commits offsets of the consumer group any more')
  }

  get found(): readonly ForeignDatabase[] {
    return this.#found
  }

  /** A sentence about each of them, with the remedy; null if there is none. */
  get reason(): string | null {
    if (this.#found.length === 0) return null
    const sentences = this.#found.map((database) => describeForeign(database, this.#own, this.#groupId))
    return [...sentences, FOREIGN_REMEDY].join('; ')
  }
}

export function listForeign(
  committed: readonly CommittedOffset[],
  ownId: string,
): readonly ForeignDatabase[] {
  const foreign = committed.flatMap(({ database, ...partition }) =>
    database === null || database.id === ownId ? [] : [{ database, key: partitionKey(partition) }],
  )
  return [...Map.groupBy(foreign, ({ database }) => database.id).values()].flatMap((partitions) =>
    partitions
      .slice(0, 1)
      .map(({ database }) => ({ ...database, partitions: partitions.map(({ key }) => key).sort() })),
  )
}

export function describeForeign(
  { partitions, ...other }: ForeignDatabase,
  own: DatabaseName,
  groupId: string,
): string {
  return `another database commits offsets of the consumer group ${groupId}: ${describeDatabase(other)} has ${partitions.join(', ')}, and this one is ${describeDatabase(own)}`
}

export const FOREIGN_REMEDY =
  'two deployments with one consumer group take events from each other: give each its own MQ_GROUP_ID; if this database replaced the other one, `checkpoints set` says where it begins'

export function describeLost(count: bigint): string {
  return `this database has lost the rows of up to ${count} messages whose offsets it had committed to Kafka: it was restored or failed over, its checkpoint was set back by hand, or a copy of it works in this consumer group`
}

export const LOST_REMEDY =
  'if a copy of this database works in this consumer group, give the copy an MQ_GROUP_ID of its own, and set no checkpoint, which would pass over what the copy took; else members of these events are told again, with the same idempotency keys; if they must not be, run `checkpoints set --to committed` before the start (`checkpoints` lists what it sets), not `--to latest`, which passes over events that nobody was told of'

export function describeDatabase({ id, place }: DatabaseName): string {
  return place === '' ? id : `${id} (${place})`
}
