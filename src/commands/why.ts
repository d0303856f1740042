import { Command } from 'commander'
import { loadArchivedRules } from '../app/in-force.ts'
import { loadDatabaseUrl, loadRetryLimits, loadTraceUrl } from '../config/config.ts'
import { isLogLocator } from '../core/log/log-locator.ts'
import { printable } from '../core/text/sanitize.ts'
import { describeEntry, explain } from '../core/why/explain-decision.ts'
import { withDatabase } from '../postgres/connection/with-database.ts'
import { getLogEntry } from '../postgres/read/get-log-entry.ts'
import { note, print } from './terminal/print.ts'

export const whyCommand = new Command('why')
  .description('explain a log entry by the rules that were in force at its time')
  .argument('<locator or event id>', 'the locator of the log entry, NTF-…, or the id of its event')
  .option('--json', 'as one JSON object, like that of GET /log/{locator}')
  .addHelpText(
    'after',
    `
An event has at most one log entry. It has none if it was not read yet, was rejected (see \`rejected list\`), or was pruned.
DATABASE_URL names the database. RETRY_MAX_AGE and RETRY_MAX_ATTEMPTS, set as for \`serve\`, define which rows are given up.
TRACE_URL, if set, turns each trace id into a link.
Exit codes: 0 explained, 1 no such entry or failed, 2 wrong usage.

Example:
  $ notifications-service why NTF-0196f3a2-7c1e-7b3a-9d55-3f6f0c2b8a11`,
  )
  .action(why)

async function why(id: string, { json }: { readonly json?: true }): Promise<void> {
  await withDatabase(loadDatabaseUrl(process.env), async (pool) => {
    const limits = loadRetryLimits(process.env)
    const byLocator = isLogLocator(id) ? await getLogEntry(pool, limits, id) : null
    const entry = byLocator ?? (await getLogEntry(pool, limits, id, 'event_id'))
    if (entry === null) {
      note(`no log entry has the locator or the event id ${printable(id)}`)
      process.exitCode = 1
      return
    }
    const rules = await loadArchivedRules(pool, entry.decisions)
    const explained = explain(entry, rules, loadTraceUrl(process.env))
    await print(...(json ? [JSON.stringify(explained)] : describeEntry(explained)))
  })
}
