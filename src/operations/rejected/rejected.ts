import type { Command } from 'commander'
import { ALL_REJECTED, readRejected } from '../../service/store/read/list-rejected-messages.ts'
import { resolveTime } from '../../service/store/read/resolve-time.ts'
import { counted } from '../../service/text/count.ts'
import { withWriteOptions } from '../../terminal/confirm.ts'
import { newCommand, notBlank, parseId } from '../../terminal/options.ts'
import { note, print } from '../../terminal/print.ts'
import { withDatabase } from '../../terminal/with-database.ts'
import type { World } from '../../terminal/world.ts'
import { ASK_EXIT_CODES, ASK_HELP, type AskOptions, ask, checkAsked } from '../requests/follow.ts'
import { formatRejected, formatWhole, showWhole, summarize } from './describe-rejected.ts'
import { choose, type FilterOptions, withChoice, withFilter } from './rejected-filter.ts'
import { skipCommand } from './skip.ts'

const listCommand = (world: World) =>
  withFilter(
    newCommand('list', {
      exitCodes: '0 listed, 1 failed',
      example: 'rejected list --topic claims --since 2026-01-31',
    }),
  )
    .description('list rejected messages, oldest first, without their contents')
    .option('--all', 'include those that a redrive or a dismissal has settled')
    .option('--json', 'one JSON object per line')
    .action((options: ListOptions) => list(world, options))

interface ListOptions extends FilterOptions {
  readonly json?: true
}

async function list(world: World, { topic, code, since, until, all, json }: ListOptions): Promise<void> {
  await withDatabase(world, async (pool) => {
    const filter = {
      ...ALL_REJECTED,
      topic: topic ?? null,
      code: code ?? null,
      since: since === undefined ? null : await resolveTime(pool, since),
      before: until === undefined ? null : await resolveTime(pool, until),
      open: !all,
    }
    let count = 0
    for await (const page of readRejected(pool, filter)) {
      await print(
        world,
        ...page.map((message) => (json ? JSON.stringify(summarize(message)) : formatRejected(message))),
      )
      count += page.length
    }
    if (!json) note(world, `${counted(count, 'rejected message')}${all ? '' : ' not settled'}`)
  })
}

const showCommand = (world: World) =>
  newCommand('show', {
    exitCodes: '0 shown, 1 no message has this id, or it could not be read',
    example: 'rejected show 42',
  })
    .description('show one rejected message in full; it may contain personal data')
    .argument('<id>', 'the id, as listed', parseId)
    .option('--json', 'as JSON: bytes in base64, and as text if they are text')
    .action((id: string, options: { readonly json?: true }) => show(world, id, options))

async function show(world: World, id: string, { json }: { readonly json?: true }): Promise<void> {
  await withDatabase(world, async (pool) => {
    for await (const [rejected] of readRejected(pool, { ...ALL_REJECTED, ids: [BigInt(id)] }))
      if (rejected !== undefined)
        return print(world, json ? JSON.stringify(showWhole(rejected)) : formatWhole(rejected))
    world.exitCode = 1
    note(world, `no rejected message has the id ${id}`)
  })
}

const redriveCommand = (world: World) =>
  buildAskCommand(
    world,
    'redrive',
    'send rejected messages through the pipeline again, once the cause of their rejection is fixed',
    'the reason for it; recorded',
    'rejected redrive --code refused-by-database --because "the column is wider"',
  )

const dismissCommand = (world: World) =>
  buildAskCommand(
    world,
    'dismiss',
    'settle rejected messages that nobody needs, such as junk, so that they no longer count; ' +
      '`prune` deletes them later, and until then they can be redriven by id',
    'why they are dismissed; recorded',
    'rejected dismiss --topic claims --code not-json --because "load test"',
  )

/** A command that requests the processing of rejected messages. */
function buildAskCommand(
  world: World,
  kind: 'redrive' | 'dismiss',
  description: string,
  because: string,
  example: string,
): Command {
  return withWriteOptions(
    withChoice(newCommand(kind, { notes: ASK_HELP, exitCodes: ASK_EXIT_CODES, example })),
  )
    .description(description)
    .option('--because <text>', because, notBlank)
    .option('--dry-run', 'ask for nothing; count the messages by result')
    .option('--json', 'print the request as one JSON object when it has ended')
    .action((ids: readonly string[] = [], options: FilterOptions & AskOptions) =>
      askFor(world, kind, ids, options),
    )
}

async function askFor(
  world: World,
  kind: 'redrive' | 'dismiss',
  ids: readonly string[],
  options: FilterOptions & AskOptions,
): Promise<void> {
  checkAsked(options, ids)
  const choice = choose(ids, options)
  await withDatabase(world, (pool) => ask(world, pool, { kind, ...choice }, options))
}

export const rejectedCommand = (world: World) =>
  newCommand('rejected', { example: 'rejected list' })
    .description(
      'list, show, redrive and dismiss rejected messages: those that are not valid events, or whose row the database refused',
    )
    .addCommand(listCommand(world))
    .addCommand(showCommand(world))
    .addCommand(redriveCommand(world))
    .addCommand(dismissCommand(world))
    .addCommand(skipCommand(world))
