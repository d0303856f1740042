import { Command } from 'commander'
import { loadDatabaseUrl } from '../config/config.ts'
import { counted } from '../core/text/count.ts'
import { withDatabase } from '../postgres/connection/with-database.ts'
import { countRejectedMessages, readRejected } from '../postgres/read/list-rejected-messages.ts'
import { dismissRejected } from '../postgres/write/record-redrive.ts'
import { formatLine, formatWhole, showWhole, summarize } from './rejected/describe.ts'
import {
  choose,
  type FilterOptions,
  parseFilter,
  parseId,
  rejectedMessages,
  withChoice,
  withFilter,
} from './rejected/filter.ts'
import { redriveCommand } from './rejected/redrive.ts'
import { skipCommand } from './rejected/skip.ts'
import { confirm, type WriteOptions, withWriteOptions } from './terminal/confirm.ts'
import { helpEnd, notBlank, UsageError } from './terminal/options.ts'
import { note, print } from './terminal/print.ts'

const listCommand = withFilter(new Command('list'))
  .description('list rejected messages, oldest first, without their contents')
  .option('--all', 'include those that a redrive or a dismissal has settled')
  .option('--json', 'one JSON object per line')
  .addHelpText('after', helpEnd('0 listed, 1 failed', 'rejected list --topic claims --since 2026-01-31'))
  .action(list)

async function list(options: FilterOptions & { readonly json?: true }): Promise<void> {
  await withDatabase(loadDatabaseUrl(process.env), async (pool) => {
    const filter = await parseFilter(pool, options, { ids: null, open: options.all !== true })
    let count = 0
    for await (const rejected of rejectedMessages(pool, filter)) {
      await print(options.json ? JSON.stringify(summarize(rejected)) : formatLine(rejected))
      count++
    }
    if (!options.json) note(`${counted(count, 'rejected message')}${options.all ? '' : ' not settled'}`)
  })
}

const showCommand = new Command('show')
  .description('show one rejected message in full; it may contain personal data')
  .argument('<id>', 'the id, as listed', parseId)
  .option('--json', 'as JSON: bytes in base64, and as text if they are text')
  .addHelpText(
    'after',
    helpEnd('0 shown, 1 no message has this id, or it could not be read', 'rejected show 42'),
  )
  .action(show)

async function show(id: bigint, { json }: { readonly json?: true }): Promise<void> {
  await withDatabase(loadDatabaseUrl(process.env), async (pool) => {
    const filter = await parseFilter(pool, {}, { ids: [id], open: false })
    for await (const [rejected] of readRejected(pool, filter))
      if (rejected !== undefined)
        return print(json ? JSON.stringify(showWhole(rejected)) : formatWhole(rejected))
    process.exitCode = 1
    note(`no rejected message has the id ${id}`)
  })
}

const dismissCommand = withWriteOptions(withChoice(new Command('dismiss')))
  .description(
    'settle rejected messages that nobody needs, such as junk, so that they no longer count; ' +
      '`prune` deletes them later, and until then they can be redriven by id',
  )
  .option('--because <text>', 'why they are dismissed; required unless --dry-run; recorded', notBlank)
  .option('--dry-run', 'write nothing; count what would be dismissed')
  .option('--json', 'print a JSON object')
  .addHelpText(
    'after',
    helpEnd('0 dismissed, 1 failed', 'rejected dismiss --topic claims --code not-json --because "load test"'),
  )
  .action(dismiss)

type DismissOptions = FilterOptions & WriteOptions & { readonly because?: string }

async function dismiss(ids: readonly bigint[] = [], options: DismissOptions): Promise<void> {
  const { because = '', dryRun, by, json } = options
  if (!dryRun && because === '')
    throw new UsageError('give --because: the reason for the dismissal; recorded (or --dry-run)')
  await withDatabase(loadDatabaseUrl(process.env), async (pool) => {
    const { filter, count } = await choose(pool, ids, options)
    if (dryRun) {
      const found = await countRejectedMessages(pool, { ...filter, open: true })
      return print(json ? JSON.stringify({ found }) : `Dry run: would dismiss ${found}`)
    }
    const isConfirmed = count === 0 || (await confirm(`Dismiss ${counted(count, 'message')}?`, options))
    const dismissed = isConfirmed ? await dismissRejected(pool, filter, by, because) : 0
    await print(json ? JSON.stringify({ dismissed, by, because }) : `${dismissed} dismissed`)
  })
}

export const rejectedCommand = new Command('rejected')
  .description(
    'list, show, redrive and dismiss rejected messages: those that are not valid events, or whose row the database refused',
  )
  .addCommand(listCommand)
  .addCommand(showCommand)
  .addCommand(redriveCommand)
  .addCommand(dismissCommand)
  .addCommand(skipCommand)
  .addHelpText('after', '\nExample:\n  $ notifications-service rejected list')
