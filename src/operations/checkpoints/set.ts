import { InvalidArgumentError } from 'commander'
import { withBrokers } from '../../service/app/clients.ts'
import { type Config, loadConfig } from '../../service/config/config.ts'
import type { Brokers } from '../../service/consume/brokers.ts'
import { READ_COMMITTED } from '../../service/consume/fetch-request.ts'
import { judgeGroups } from '../../service/consume/member-notices.ts'
import { partitionKey } from '../../service/decide/event/position.ts'
import { describeUnknownTopics } from '../../service/model/request/hold.ts'
import type { DatabasePool } from '../../service/store/connection/pool.ts'
import { listReplicas } from '../../service/store/read/list-replicas.ts'
import { readDatabaseName } from '../../service/store/read/read-database-name.ts'
import { resolveTime } from '../../service/store/read/resolve-time.ts'
import { counted } from '../../service/text/count.ts'
import { CorrectableError } from '../../service/text/faults.ts'
import type { Since } from '../../service/time/duration.ts'
import {
  confirm,
  requireBecause,
  type WriteOptions,
  withWriteOptions,
  wouldDo,
} from '../../terminal/confirm.ts'
import { newCommand, parseSince, parseWhole, UsageError } from '../../terminal/options.ts'
import { print } from '../../terminal/print.ts'
import { withDatabase } from '../../terminal/with-database.ts'
import type { World } from '../../terminal/world.ts'
import { listPositions, type Position } from './list-positions.ts'
import { type CheckpointChange, setCheckpoints } from './set-checkpoints.ts'

const NAMED_STARTS = ['earliest', 'latest', 'committed'] as const

type Start =
  | { readonly kind: (typeof NAMED_STARTS)[number] }
  | { readonly kind: 'offset'; readonly offset: bigint }
  | { readonly kind: 'time'; readonly since: Since }

export const setCommand = (world: World) =>
  withWriteOptions(
    newCommand('set', {
      notes: `Run it with the environment of \`serve\`, while no replica is in the consumer group. Events that are read again and have a
row are duplicates: nobody is told twice. Events that are passed over get no row, and nobody is told. Never set checkpoints back after
"eventId" in rules/envelope.json changed: every message then counts as new. Use \`retry --read-again\` instead.`,
      exitCodes: '0 set, 1 declined or failed',
      example: [
        'checkpoints set --to latest --because "the events before were told elsewhere"',
        'checkpoints set --to 41000 --topic claims --partition 0 --because "the map is corrected" --dry-run',
      ],
    }),
  )
    .description('decide where the service starts to read each partition; recorded')
    .requiredOption(
      '--to <where>',
      'the first message to read: earliest, latest, committed (what the consumer group has committed to Kafka), a time (7d, a date, or ISO 8601), or an offset of one partition',
      parseStart,
    )
    .option('--topic <name>', 'only this topic; by default all of MQ_TOPICS')
    .option('--partition <number>', 'only this partition of the topic', parseWhole)
    .option('--because <text>', 'why, without the name of a person; recorded')
    .option('--dry-run', 'set nothing; show what would be set')
    .option('--json', 'print the changes as one JSON object')
    .action((options: Options) => set(world, options))

function parseStart(text: string): Start {
  const kind = NAMED_STARTS.find((name) => name === text)
  if (kind !== undefined) return { kind }
  if (/^\d{1,18}$/.test(text)) return { kind: 'offset', offset: BigInt(text) }
  try {
    return { kind: 'time', since: parseSince(text) }
  } catch {
    throw new InvalidArgumentError(
      `Write ${NAMED_STARTS.join(', ')}, an offset, or a time such as 7d or 2026-01-31.`,
    )
  }
}

interface Options extends WriteOptions {
  readonly to: Start
  readonly topic?: string
  readonly partition?: bigint
  readonly because?: string
}

async function set(world: World, options: Options): Promise<void> {
  const { to, topic, partition } = options
  if (partition !== undefined && topic === undefined) throw new UsageError('--partition needs --topic')
  if (to.kind === 'offset' && partition === undefined)
    throw new UsageError('an offset is one of a partition: give --topic and --partition')
  requireBecause(options, '--because is missing: why are they set?')
  const config = loadConfig(world.env)
  const unknown = describeUnknownTopics(topic === undefined ? [] : [topic], config.broker.topics)
  if (unknown !== null) throw new UsageError(unknown)
  await withBrokers(config.broker, `${config.broker.groupId}-checkpoints`, (brokers) =>
    withDatabase(world, (pool) => setWith(world, config, pool, brokers, options)),
  )
}

async function setWith(
  world: World,
  config: Config,
  pool: DatabasePool,
  brokers: Brokers,
  options: Options,
): Promise<void> {
  const { groupId, topics } = config.broker
  const { topic, partition, because = '', by, dryRun, yes, json } = options
  await requireNoReplica(pool, brokers, config.broker)
  const positions = (
    await listPositions(pool, brokers, groupId, topic === undefined ? topics : [topic])
  ).filter((position) => partition === undefined || BigInt(position.partition) === partition)
  if (positions.length === 0) throw new CorrectableError('the brokers serve no such partition: see `doctor`')
  const changes = await findChanges(pool, brokers, positions, options.to)
  const lines = changes.map(describeCheckpointChange)
  if (!json) await print(world, ...lines)
  const checkpoints = counted(changes.length, 'checkpoint')
  const isDone = !dryRun && (await confirm(world, `Set ${checkpoints}?`, { yes }))
  if (isDone) {
    const own = await readDatabaseName(pool, config.database.url)
    const next = changes.map(({ to, ...change }) => ({ ...change, next: to + 1n }))
    const moved = await setCheckpoints(pool, changes, { by, because }, () =>
      brokers.commitOffsets(groupId, next, own),
    )
    if (moved !== null)
      throw new CorrectableError(
        `the checkpoint of ${partitionKey(moved)} has moved meanwhile: nothing is set. Stop all replicas, and run it again`,
      )
  }
  const shown = changes.map(({ from, to, ...change }) => ({
    ...change,
    from: from === null ? null : String(from),
    to: String(to),
  }))
  await print(
    world,
    json
      ? JSON.stringify({ set: isDone, changes: shown })
      : isDone
        ? 'Set.'
        : wouldDo(dryRun, `set ${checkpoints}`),
  )
}

/** A running replica would move its checkpoint at once, and events held by another group's replica would be passed over for good. */
async function requireNoReplica(
  pool: DatabasePool,
  brokers: Brokers,
  { groupId, topics }: Config['broker'],
): Promise<void> {
  const members = await brokers.listMembers(groupId)
  if (members.length > 0)
    throw new CorrectableError(
      `${counted(members.length, 'member')} of the consumer group ${groupId} may be consuming, on ${members.map(({ host }) => host).join(', ')}: stop all replicas first; one that was killed leaves the group after MQ_SESSION_TIMEOUT`,
    )
  const notice = judgeGroups({ groupId, topics }, await listReplicas(pool))
  if (notice !== null)
    throw new CorrectableError(
      `${notice.text}: correct MQ_GROUP_ID, or stop all replicas and wait for three minutes`,
    )
}

async function findChanges(
  pool: DatabasePool,
  brokers: Brokers,
  positions: readonly Position[],
  to: Start,
): Promise<readonly CheckpointChange[]> {
  const sinceMs = to.kind === 'time' ? Date.parse(await resolveTime(pool, to.since)) : null
  const first = sinceMs === null ? null : await brokers.firstSince(positions, sinceMs, READ_COMMITTED)
  const findNext = (position: Position): bigint | null => {
    const { earliest, end, committed } = position
    switch (to.kind) {
      case 'earliest':
        return earliest
      case 'latest':
        return end
      case 'committed':
        return committed !== null && committed < earliest ? earliest : committed
      case 'offset':
        return to.offset
      case 'time':
        return first?.get(partitionKey(position)) ?? end
      default:
        return to satisfies never
    }
  }
  const changes = positions.flatMap((position) => {
    const { topic, partition, earliest, end, checkpoint } = position
    const next = findNext(position)
    // Nothing was read from it, so it stays unchanged.
    if (next === null) return []
    if (next < earliest || next > end)
      throw new CorrectableError(
        earliest === end
          ? `${partitionKey(position)} has no messages: only --to ${end} can be set`
          : `${partitionKey(position)} has the offsets ${earliest} to ${end - 1n}: --to ${next} is neither one of them nor the next`,
      )
    return [{ topic, partition, from: checkpoint, to: next - 1n }]
  })
  if (changes.length === 0)
    throw new CorrectableError(
      'the consumer group has committed no offset of these partitions: `checkpoints` lists them',
    )
  return changes
}

function describeCheckpointChange({ topic, partition, from, to }: CheckpointChange): string {
  const before = from === null ? 'no checkpoint' : `checkpoint ${from}`
  return `${partitionKey({ topic, partition })}  ${before}, to be ${to}: ${to + 1n} is the first offset to read`
}
