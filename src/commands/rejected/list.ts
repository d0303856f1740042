import { Command } from 'commander'
import { loadDatabaseUrl } from '../../config/config.ts'
import { counted } from '../../core/text/count.ts'
import { withDatabase } from '../../postgres/connection/with-database.ts'
import { countRejectedMessages } from '../../postgres/read/list-rejected-messages.ts'
import { parseCount } from '../terminal/options.ts'
import { print } from '../terminal/print.ts'
import { lineOf, summaryOf } from './describe.ts'
import { type FilterOptions, filterOf, helpOf, rejectedMessages, withFilter } from './filter.ts'

export const listCommand = withFilter(new Command('list'))
  .description('list rejected messages, oldest first, without their contents')
  .option('--all', 'include those that a redrive or a dismissal has settled')
  .option('--limit <count>', 'list at most this many', parseCount, 100)
  .option('--json', 'one JSON object per line')
  .addHelpText('after', helpOf('0 listed, 1 failed, 2 wrong usage', 'list --topic claims --since 2026-01-31'))
  .action(list)

interface Options extends FilterOptions {
  readonly limit: number
  readonly json?: true
}

async function list(options: Options): Promise<void> {
  await withDatabase(loadDatabaseUrl(process.env), async (pool) => {
    const filter = await filterOf(pool, options, { ids: null, open: options.all !== true })
    let leftCount = options.limit
    for await (const rejected of rejectedMessages(pool, filter)) {
      if (leftCount-- === 0) break
      await print(options.json ? JSON.stringify(summaryOf(rejected)) : lineOf(rejected))
    }
    if (options.json) return
    const count = await countRejectedMessages(pool, filter)
    const which = options.all ? '' : ' not settled'
    const shown = count > options.limit ? `; these are the oldest ${options.limit}, see --limit` : ''
    process.stderr.write(`${counted(count, 'rejected message')}${which}${shown}\n`)
  })
}
