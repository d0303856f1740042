import type { Command } from 'commander'
import { ALL_REJECTED, readRejected } from '../../service/store/read/list-rejected-messages.ts'
import { resolveTime } from '../../service/store/read/resolve-time.ts'
import { counted } from '../../service/text/count.ts'
import { withWriteOptions } from '../../terminal/confirm.ts'
import { newCommand, notBlank, parseId } from '../../terminal/options.ts'
import { note, print } from '../../terminal/print.ts'
import { withDatabase } from '../../terminal/with-database.ts'
import { ASK_EXIT_CODES, ASK_HELP, type AskOptions, ask, checkAsked } from '../requests/follow.ts'
import { formatLine, formatWhole, showWhole, summarize } from './describe-rejected.ts'
import { choose, type FilterOptions, withChoice, withFilter } from './rejected-filter.ts'
import { skipCommand } from './skip.ts'

const listCommand = withFilter(
  newCommand('list', {
    exitCodes: '0 listed, 1 failed',
    example: 'rejected list --topic claims --since 2026-01-31',
  }),
)
  .description('list rejected messages, oldest first, without their contents')
  .option('--all', 'include those that a redrive or a dismissal has settled')
  .option('--json', 'one JSON object per line')
  .action(list)

interface ListOptions extends FilterOptions {
  readonly json?: true
}

async function list({ topic, code, since, all, json }: ListOptions): Promise<void> {
  await withDatabase(async (pool) => {
    const filter = {
      ...ALL_REJECTED,
      topic: topic ?? null,
      code: code ?? null,
      since: since === undefined ? null : await resolveTime(pool, since),
      open: !all,
    }
    let count = 0
    for await (const page of readRejected(pool, filter)) {
      await print(...page.map((one) => (json ? JSON.stringify(summarize(one)) : formatLine(one))))
      count += page.length
    }
    if (!json) note(`${counted(count, 'rejected message')}${all ? '' : ' not settled'}`)
  })
}

const showCommand = newCommand('show', {
  exitCodes: '0 shown, 1 no message has this id, or it could not be read',
  example: 'rejected show 42',
})
  .description('show one rejected message in full; it may contain personal data')
  .argument('<id>', 'the id, as listed', parseId)
  .option('--json', 'as JSON: bytes in base64, and as text if they are text')
  .action(show)

async function show(id: string, { json }: { readonly json?: true }): Promise<void> {
  await withDatabase(async (pool) => {
    for await (const [rejected] of readRejected(pool, { ...ALL_REJECTED, ids: [BigInt(id)] }))
      if (rejected !== undefined)
        return print(json ? JSON.stringify(showWhole(rejected)) : formatWhole(rejected))
    process.exitCode = 1
    note(`no rejected message has the id ${id}`)
  })
}

const redriveCommand = buildAskCommand(
  'redrive',
  'send rejected messages through the pipeline again, once the cause of their rejection is fixed',
  'the reason for it; recorded',
  'rejected redrive --code refused-by-database --because "the column is wider"',
)

const dismissCommand = buildAskCommand(
  'dismiss',
  'settle rejected messages that nobody needs, such as junk, so that they no longer count; ' +
    '`prune` deletes them later, and until then they can be redriven by id',
  'why they are dismissed; recorded',
  'rejected dismiss --topic claims --code not-json --because "load test"',
)

/** A command that asks the service for something with rejected messages. */
function buildAskCommand(
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
    .option('--dry-run', 'ask for nothing; count the messages by their codes')
    .option('--json', 'print the request as one JSON object when it has ended')
    .action((ids: readonly string[] = [], options: FilterOptions & AskOptions) => askFor(kind, ids, options))
}

async function askFor(
  kind: 'redrive' | 'dismiss',
  ids: readonly string[],
  options: FilterOptions & AskOptions,
): Promise<void> {
  checkAsked(options, ids)
  const choice = choose(ids, options)
  await withDatabase((pool) => ask(pool, { kind, ...choice }, options))
}

export const rejectedCommand = newCommand('rejected', { example: 'rejected list' })
  .description(
    'list, show, redrive and dismiss rejected messages: those that are not valid events, or whose row the database refused',
  )
  .addCommand(listCommand)
  .addCommand(showCommand)
  .addCommand(redriveCommand)
  .addCommand(dismissCommand)
  .addCommand(skipCommand)
