import { Command } from 'commander'
import { loadDatabaseUrl } from '../../config/config.ts'
import { counted } from '../../core/text/count.ts'
import { withDatabase } from '../../postgres/connection/with-database.ts'
import { print } from '../terminal/print.ts'
import { lineOf, summaryOf } from './describe.ts'
import { type FilterOptions, filterOf, helpOf, rejectedMessages, withFilter } from './filter.ts'

export const listCommand = withFilter(new Command('list'))
  .description('list rejected messages, oldest first, without their contents')
  .option('--all', 'include those that a redrive or a dismissal has settled')
  .option('--json', 'one JSON object per line')
  .addHelpText('after', helpOf('0 listed, 1 failed, 2 wrong usage', 'list --topic claims --since 2026-01-31'))
  .action(list)

interface Options extends FilterOptions {
  readonly json?: true
}

async function list(options: Options): Promise<void> {
  await withDatabase(loadDatabaseUrl(process.env), async (pool) => {
    const filter = await filterOf(pool, options, { ids: null, open: options.all !== true })
    let count = 0
    for await (const rejected of rejectedMessages(pool, filter)) {
      await print(options.json ? JSON.stringify(summaryOf(rejected)) : lineOf(rejected))
      count++
    }
    const which = options.all ? '' : ' not settled'
    if (!options.json) process.stderr.write(`${counted(count, 'rejected message')}${which}\n`)
  })
}
