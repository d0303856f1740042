import { Command, InvalidArgumentError } from 'commander'
import { loadDatabaseUrl } from '../../config/config.ts'
import { withDatabase } from '../../postgres/connection/with-database.ts'
import { countRejectedMessages } from '../../postgres/read/list-rejected-messages.ts'
import { lineOf, summaryOf } from './describe.ts'
import { type FilterOptions, filterOf, helpOf, rejectedMessages, withFilter } from './filter.ts'

export const listCommand = withFilter(new Command('list'))
  .description('list rejected messages, oldest first, without their contents')
  .option('--all', 'include those settled by a redrive')
  .option('--limit <count>', 'maximum number to list', parseCount, 100)
  .option('--json', 'one JSON object per line')
  .addHelpText(
    'after',
    helpOf('0 listed, 1 they could not be read, 2 wrong usage', 'list --topic claims --since 2026-01-31'),
  )
  .action(list)

interface Options extends FilterOptions {
  readonly all?: true
  readonly limit: number
  readonly json?: true
}

async function list(options: Options): Promise<void> {
  await withDatabase(loadDatabaseUrl(process.env), async (pool) => {
    const filter = await filterOf(pool, options, { ids: null, open: options.all !== true })
    let leftCount = options.limit
    for await (const rejected of rejectedMessages(pool, filter)) {
      if (leftCount-- === 0) break
      process.stdout.write(`${options.json ? JSON.stringify(summaryOf(rejected)) : lineOf(rejected)}\n`)
    }
    if (options.json) return
    const count = await countRejectedMessages(pool, filter)
    process.stderr.write(count > options.limit ? `${count} in all: see --limit\n` : `${count} in all\n`)
  })
}

function parseCount(text: string): number {
  if (!/^[1-9]\d{0,8}$/.test(text)) throw new InvalidArgumentError('it must be a whole number above 0.')
  return Number(text)
}
