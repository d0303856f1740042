import { withWriteOptions } from '../../terminal/confirm.ts'
import { newCommand, parseWhole } from '../../terminal/options.ts'
import { withDatabase } from '../../terminal/with-database.ts'
import type { World } from '../../terminal/world.ts'
import { ASK_EXIT_CODES, ASK_HELP, type AskOptions, ask, checkAsked } from '../requests/follow.ts'

export const skipCommand = (world: World) =>
  withWriteOptions(
    newCommand('skip', {
      notes: ASK_HELP,
      exitCodes: ASK_EXIT_CODES,
      example: 'rejected skip --topic claims --partition 3 --offset 1200 --because "disk error"',
    }),
  )
    .description(
      'skip an unreadable record batch, which blocks a partition; the replica that owns the partition does it',
    )
    .requiredOption('--topic <name>', 'the topic')
    .requiredOption('--partition <number>', 'the partition', parseWhole)
    .requiredOption(
      '--offset <offset>',
      'the first offset to skip, where the partition is blocked',
      parseWhole,
    )
    .option('--to <offset>', 'the last offset to skip; by default the end of the batch', parseWhole)
    .option('--because <text>', 'why it is skipped; recorded')
    .option('--json', 'print the request as one JSON object when it has ended')
    .action((options: Options) => skip(world, options))

interface Options extends AskOptions {
  readonly topic: string
  readonly partition: bigint
  readonly offset: bigint
  readonly to?: bigint
}

async function skip(world: World, options: Options): Promise<void> {
  checkAsked(options, [])
  const { topic, partition, offset, to } = options
  const batch = {
    topic,
    partition: Number(partition),
    offset: String(offset),
    ...(to !== undefined && { to: String(to) }),
  }
  await withDatabase(world, (pool) => ask(world, pool, { kind: 'skip', batch }, options))
}
