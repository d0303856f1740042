import { Command } from 'commander'
import { loadDatabaseUrl } from '../../config/config.ts'
import { withDatabase } from '../../postgres/connection/with-database.ts'
import { readRejected } from '../../postgres/read/list-rejected-messages.ts'
import { print } from '../terminal/print.ts'
import { textOf, wholeOf } from './describe.ts'
import { filterOf, helpOf, parseId } from './filter.ts'

export const showCommand = new Command('show')
  .description('show one rejected message in full; it may contain personal data')
  .argument('<id>', 'the id, as listed', parseId)
  .option('--json', 'as JSON: bytes in base64, and as text if they are text')
  .addHelpText(
    'after',
    helpOf('0 shown, 1 no message has this id, or it could not be read, 2 wrong usage', 'show 42'),
  )
  .action(show)

async function show(id: bigint, { json }: { readonly json?: true }): Promise<void> {
  await withDatabase(loadDatabaseUrl(process.env), async (pool) => {
    const filter = await filterOf(pool, {}, { ids: [id], open: false })
    const [rejected] = await readRejected(pool, filter, 0n, 1)
    if (rejected === undefined) {
      process.exitCode = 1
      process.stderr.write(`no rejected message has the id ${id}\n`)
    } else await print(json ? JSON.stringify(wholeOf(rejected)) : textOf(rejected))
  })
}
