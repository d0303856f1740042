import { Command } from 'commander'
import { TEMPLATE_EVENT_TYPES } from '../app/policy.ts'
import { loadDatabaseUrl } from '../config/config.ts'
import { createRuleCache } from '../core/why/archived-rules.ts'
import { describeEntry, explain } from '../core/why/explain.ts'
import { withDatabase } from '../postgres/connection/with-database.ts'
import { getLogEntry } from '../postgres/read/get-log-entry.ts'
import { readArchivedRuleTable } from '../postgres/read/read-archive.ts'

export const whyCommand = new Command('why')
  .description('explain a log entry by the rules that were in force at its time')
  .argument('<locator>', 'the locator of the log entry, NTF-…')
  .option('--json', 'as one JSON object, like that of GET /log/{locator}')
  .addHelpText(
    'after',
    '\nDATABASE_URL names the database.\nExit codes: 0 explained, 1 no such entry or failed, 2 wrong usage.\n\nExample:\n  $ notifications-service why NTF-0196f3a2-7c1e-7b3a-9d55-3f6f0c2b8a11',
  )
  .action(why)

async function why(locator: string, { json }: { readonly json?: true }): Promise<void> {
  await withDatabase(loadDatabaseUrl(process.env), async (pool) => {
    const entry = await getLogEntry(pool, locator)
    if (entry === null) {
      process.stderr.write(`no log entry has the locator ${locator}\n`)
      process.exitCode = 1
      return
    }
    const rulesOf = createRuleCache((revision) => readArchivedRuleTable(pool, revision), TEMPLATE_EVENT_TYPES)
    const explained = explain(entry, await rulesOf(entry.decisions))
    process.stdout.write(`${json ? JSON.stringify(explained) : describeEntry(explained).join('\n')}\n`)
  })
}
