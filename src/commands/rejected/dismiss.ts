import { Command } from 'commander'
import { loadDatabaseUrl } from '../../config/config.ts'
import { counted } from '../../core/text/count.ts'
import { withDatabase } from '../../postgres/connection/with-database.ts'
import { countRejectedMessages } from '../../postgres/read/list-rejected-messages.ts'
import { dismissRejected } from '../../postgres/write/record-redrive.ts'
import { accountName, confirm } from '../terminal/confirm.ts'
import { notBlank, UsageError, type WriteOptions } from '../terminal/options.ts'
import { print } from '../terminal/print.ts'
import { choose, type FilterOptions, helpOf, withChoice } from './filter.ts'

export const dismissCommand = withChoice(new Command('dismiss'))
  .description('settle rejected messages that nobody needs, such as junk, so that they no longer count')
  .option('--because <text>', 'why they are dismissed; required unless --dry-run; recorded', notBlank)
  .option('--dry-run', 'write nothing; count what would be dismissed')
  .option('--by <name>', 'name to record; by default that of the account')
  .option('--yes', 'do not ask for confirmation')
  .option('--json', 'print a JSON object')
  .addHelpText(
    'after',
    `\nThe messages stay until \`prune\` deletes them, and can still be redriven by id.\n${helpOf('0 dismissed, 1 failed, 2 wrong usage', 'dismiss --topic claims --code not-json --because "load test"')}`,
  )
  .action(dismiss)

interface Options extends FilterOptions, WriteOptions {
  readonly because?: string
}

async function dismiss(ids: readonly bigint[] = [], options: Options): Promise<void> {
  const { because = '', dryRun, by = accountName(), yes, json } = options
  if (!dryRun && because === '')
    throw new UsageError('give --because: the reason for the dismissal; recorded (or --dry-run)')
  await withDatabase(loadDatabaseUrl(process.env), async (pool) => {
    const { filter, count } = await choose(pool, ids, options)
    if (dryRun) {
      const found = await countRejectedMessages(pool, { ...filter, open: true })
      return print(json ? JSON.stringify({ found }) : `Dry run: would dismiss ${found}`)
    }
    const isConfirmed = count === 0 || yes || (await confirm(`Dismiss ${counted(count, 'message')}?`))
    const dismissed = isConfirmed ? await dismissRejected(pool, filter, by, because) : 0
    await print(json ? JSON.stringify({ dismissed, by, because }) : `${dismissed} dismissed`)
  })
}
