import { setTimeout as sleep } from 'node:timers/promises'
import { withBrokers } from '../../service/app/clients.ts'
import type { Config } from '../../service/config/config.ts'
import type { Brokers, PartitionEnds } from '../../service/consume/brokers.ts'
import { READ_COMMITTED, READ_UNCOMMITTED } from '../../service/consume/fetch-request.ts'
import { inspectPartition } from '../../service/consume/inspect-partition.ts'
import { readMessages } from '../../service/consume/read-messages.ts'
import { takeFingerprint } from '../../service/consume/records/record.ts'
import { judgeRecreated } from '../../service/consume/recreated-topic.ts'
import {
  type Checkpoint,
  partitionKey,
  placeKey,
  type TopicPartition,
} from '../../service/decide/event/position.ts'
import { BLOCK_REASONS, type BlockReason } from '../../service/model/block-reasons.ts'
import type { DatabasePool } from '../../service/store/connection/pool.ts'
import {
  type CheckpointHolder,
  listCheckpointHolders,
  listCheckpoints,
  listLockedCheckpoints,
} from '../../service/store/read/list-checkpoints.ts'
import { counted } from '../../service/text/count.ts'
import { listDecided } from '../checkpoints/set-checkpoints.ts'
import { withPool } from './database.ts'
import { type Check, Problem, RUN_AGAIN, type Warning } from './remedies.ts'

/** Longer than the service's transactions wait for a lock, and than most producers' transactions take. */
const LASTING_MS = 6_000
/** Replicas that wait for the end of a hold are still in the consumer group. */
const STOP_FIRST = 'with all replicas stopped, which ends no hold,'

export const partitionsCheck: Check = {
  name: 'partitions',
  prefix: 'MQ_',
  after: ['broker', 'schema'],
  run: (config) => withPool(config, (pool) => checkPartitions(config, pool)),
  remedies: { other: RUN_AGAIN },
}

interface Next extends TopicPartition {
  readonly next: bigint
}

/** Rejects with the blocked partitions, and those without a checkpoint. Warns of open transactions, and of partitions that would be read from the beginning. */
function checkPartitions({ broker }: Config, pool: DatabasePool): Promise<string | Warning> {
  const { groupId, topics } = broker
  return withBrokers(broker, groupId, async (brokers) => {
    // Before the ends: a running service moves its checkpoints.
    const checkpoints = new Map(
      (await listCheckpoints(pool, topics)).map(
        (checkpoint) => [partitionKey(checkpoint), checkpoint] as const,
      ),
    )
    const findCheckpoint = (partition: TopicPartition) =>
      checkpoints.get(partitionKey(partition))?.offset ?? -1n
    const partitions = [...(await brokers.readEnds(topics, READ_COMMITTED)).values()]
    const lagging = partitions.flatMap(({ topic, partition, earliest, end }) => {
      const next = findCheckpoint({ topic, partition }) + 1n
      return next >= end ? [] : [{ topic, partition, next: next < earliest ? earliest : next }]
    })
    const faults = [
      ...brokers.listUnserved(topics).map(([key, { reason }]) => describeBlocked(key, reason)),
      ...(await lockedFor(pool, topics)),
      ...(await findDamagedBatches(brokers, lagging)),
    ]
    if (faults.length > 0)
      throw new Problem(
        `blocked: ${faults.join('\n')}`,
        'see NotificationsPartitionBlocked in src/service/telemetry/README.md',
      )
    // Includes offsets behind an open transaction, where a checkpoint may lie.
    const whole = [...(await brokers.readEnds(topics, READ_UNCOMMITTED)).values()]
    const withHistory = whole.filter(({ earliest, end }) => earliest < end)
    const count = (ends: typeof whole) =>
      ends.map((partition) => `${partitionKey(partition)}: ${partition.end - partition.earliest}`).join(', ')
    const undecided = withHistory.filter((partition) => !checkpoints.has(partitionKey(partition)))
    if (undecided.length > 0)
      throw new Problem(
        `nobody has decided where the first start begins; without a checkpoint all messages will be processed: ${count(undecided)}`,
        `${STOP_FIRST} run \`checkpoints set --to latest\` if members must not be told of these events any more, else \`--to earliest\`: see \`First start\` in src/deploy/README.md`,
      )
    const decided = await listDecided(pool, topics)
    const fromEarliest = withHistory.filter(
      (partition) => findCheckpoint(partition) < 0n && !decided.has(partitionKey(partition)),
    )
    const recreated = await findRecreated(brokers, whole, checkpoints)
    const heldUp = await heldUpByTransactions(brokers, topics)
    const first: Warning = {
      warning: `no checkpoint lies within these partitions, so all their messages will be processed: ${count(fromEarliest)}`,
      remedy: `if members must not be told of these events any more: ${STOP_FIRST} run \`checkpoints set\`: see \`First start\` in src/deploy/README.md`,
    }
    const open: Warning = {
      warning: `open transactions hold up ${heldUp.join(', ')}`,
      remedy:
        'if they stay open, their producer hangs: find it with `kafka-transactions.sh find-hanging`, and abort its transaction',
    }
    const anew: Warning = {
      warning: `recreated since their last message was processed, so that all their messages will be processed: ${recreated.join(', ')}`,
      remedy: `if members must not be told of these events: ${STOP_FIRST} run \`checkpoints set\`; if nobody recreated the topic, an unclean election of a leader cut it off: run \`audit\` afterwards`,
    }
    const warnings = [
      ...(fromEarliest.length > 0 ? [first] : []),
      ...(recreated.length > 0 ? [anew] : []),
      ...(heldUp.length > 0 ? [open] : []),
    ]
    if (warnings.length === 0) return `${counted(partitions.length, 'partition')}, none blocked`
    return {
      warning: warnings.map(({ warning }) => warning).join('\n'),
      remedy: warnings.map(({ remedy }) => remedy).join('; '),
    }
  })
}

async function findDamagedBatches(brokers: Brokers, lagging: readonly Next[]): Promise<string[]> {
  const faults: string[] = []
  for (const { topic, partition, next } of lagging) {
    const inspected = await inspectPartition(brokers, { topic, partition }, next)
    if (inspected.kind !== 'unreadable') continue
    const { reason, detail, last, next: intact } = inspected
    const to = last === null && intact === null ? ' --to <its last offset>' : ''
    const skip = BLOCK_REASONS[reason].isSkippable
      ? `; to skip it: rejected skip --topic ${topic} --partition ${partition} --offset ${next}${to} --because …`
      : ''
    faults.push(describeBlocked(`${topic}/${partition} at offset ${next}`, reason, `${detail}${skip}`))
  }
  return faults.sort()
}

/** The partitions whose topic was recreated, with the evidence. */
async function findRecreated(
  brokers: Brokers,
  ends: readonly PartitionEnds[],
  checkpoints: ReadonlyMap<string, Checkpoint>,
): Promise<readonly string[]> {
  const processed = ends.flatMap((partition) => {
    const checkpoint = checkpoints.get(partitionKey(partition))
    return checkpoint === undefined ? [] : [{ ...partition, checkpoint }]
  })
  const places = processed.flatMap(({ topic, partition, checkpoint: { lastMessage } }) =>
    lastMessage === null ? [] : [{ topic, partition, offset: lastMessage.offset }],
  )
  const messages = await readMessages(brokers, places)
  return processed.flatMap(({ checkpoint, ...partition }) => {
    const { lastMessage } = checkpoint
    const found = lastMessage && messages.get(placeKey({ ...partition, offset: lastMessage.offset }))
    const fault = judgeRecreated(checkpoint, partition, found ? takeFingerprint(found) : null)
    return fault === null ? [] : [`${partitionKey(partition)} (${fault})`]
  })
}

/** Partitions that stay locked while their checkpoint does not move. */
async function lockedFor(pool: DatabasePool, topics: readonly string[]): Promise<string[]> {
  const locked = await lasting(async () =>
    (await listLockedCheckpoints(pool, topics)).map(
      (checkpoint) => `${partitionKey(checkpoint)} at offset ${checkpoint.offset + 1n}`,
    ),
  )
  if (locked.length === 0) return []
  const holders = (await listCheckpointHolders(pool)).map(describeHolder)
  const lockers = holders.length === 0 ? undefined : `held by one of: ${holders.join('; ')}`
  return locked.map((where) => describeBlocked(where, 'locked', lockers))
}

/** @internal The holder of a checkpoint's lock, and how to end it. */
export function describeHolder({
  kind,
  id,
  userName,
  application,
  since,
  standbys,
}: CheckpointHolder): string {
  const session = `session ${id} of user ${userName}, application "${application}", in a transaction since ${since}`
  switch (kind) {
    case 'session':
      return `${session}: end it there, or by pg_terminate_backend(${id})`
    case 'commit':
      return `${session}, whose commit waits for a synchronous standby (synchronous_standby_names = '${standbys}'): start the standby, which pg_stat_replication then lists, or take it out of synchronous_standby_names`
    case 'prepared':
      return `the prepared transaction '${id}' of user ${userName}, prepared ${since}, which only pg_prepared_xacts lists: COMMIT PREPARED or ROLLBACK PREPARED '${id}'`
    default:
      return kind satisfies never
  }
}

/** Partitions whose committed messages wait behind a producer's transaction that stays open. */
function heldUpByTransactions(brokers: Brokers, topics: readonly string[]): Promise<string[]> {
  return lasting(async () => {
    const [committed, uncommitted] = await Promise.all([
      brokers.readEnds(topics, READ_COMMITTED),
      brokers.readEnds(topics, READ_UNCOMMITTED),
    ])
    const heldUp = [...committed].filter(([key, { end }]) => end < (uncommitted.get(key)?.end ?? end))
    return heldUp.map(([key, { end }]) => `${key} from offset ${end} on`).sort()
  })
}

/** Returns the items that are listed both now and after 6 s. */
export async function lasting(list: () => Promise<readonly string[]>): Promise<string[]> {
  const before = await list()
  if (before.length === 0) return []
  await sleep(LASTING_MS)
  const after = new Set(await list())
  return before.filter((item) => after.has(item))
}

function describeBlocked(where: string, reason: BlockReason, detail?: string): string {
  return `${where}, ${reason}: ${BLOCK_REASONS[reason].remedy}${detail === undefined ? '' : ` (${detail})`}`
}
