import { withBrokers } from '../../service/app/clients.ts'
import { loadConfig } from '../../service/config/config.ts'
import { describeDatabase } from '../../service/consume/offset-faults.ts'
import { partitionKey } from '../../service/decide/event/position.ts'
import { readDatabaseName } from '../../service/store/read/read-database-name.ts'
import { newCommand } from '../../terminal/options.ts'
import { print } from '../../terminal/print.ts'
import { withDatabase } from '../../terminal/with-database.ts'
import type { World } from '../../terminal/world.ts'
import { listPositions, type Position } from './list-positions.ts'
import { setCommand } from './set.ts'

const listCommand = (world: World) =>
  newCommand('list', {
    exitCodes: '0 listed, 1 failed',
    example: 'checkpoints list --json',
  })
    .description('list the partitions of MQ_TOPICS: checkpoint, offset and database in Kafka, end and lag')
    .option('--json', 'print one JSON object instead of text')
    .action((options: { readonly json?: true }) => list(world, options))

export const checkpointsCommand = (world: World) =>
  newCommand('checkpoints', {
    notes:
      'A checkpoint is the last processed offset of a partition. Run this with the environment of `serve`.',
    example: ['checkpoints', 'checkpoints set --to latest --because "the events before were told elsewhere"'],
  })
    .description('list checkpoints, or decide where the service starts to read')
    .addCommand(listCommand(world), { isDefault: true })
    .addCommand(setCommand(world))

async function list(world: World, { json }: { readonly json?: true }): Promise<void> {
  const { broker, database } = loadConfig(world.env)
  const { groupId, topics } = broker
  await withBrokers(broker, `${groupId}-checkpoints`, (brokers) =>
    withDatabase(world, async (pool) => {
      const own = await readDatabaseName(pool, database.url)
      const positions = await listPositions(pool, brokers, groupId, topics)
      if (json)
        return print(
          world,
          JSON.stringify({ database: own, group: groupId, partitions: positions.map(show) }),
        )
      await print(world, `database ${describeDatabase(own)}, consumer group ${groupId}`)
      await print(world, ...positions.map((position) => describePosition(position, own.id)))
    }),
  )
}

function show({ checkpoint, committed, earliest, end, lag, ...position }: Position) {
  return {
    ...position,
    checkpoint: checkpoint === null ? null : String(checkpoint),
    committed: committed === null ? null : String(committed),
    earliest: String(earliest),
    end: String(end),
    lag: String(lag),
  }
}

function describePosition(position: Position, ownId: string): string {
  const { checkpoint, committed, committedBy, earliest, end, lag } = position
  const by =
    committedBy === null
      ? 'by no known database'
      : committedBy.id === ownId
        ? 'by this database'
        : `by ANOTHER database, ${describeDatabase(committedBy)}`
  return [
    `${partitionKey(position)}  checkpoint ${checkpoint ?? 'none'}`,
    committed === null ? 'nothing committed' : `committed ${committed} ${by}`,
    `earliest ${earliest}`,
    `end ${end}`,
    `lag ${lag}`,
  ].join(', ')
}
