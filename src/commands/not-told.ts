import { Command, Option } from 'commander'
import { TEMPLATE_EVENT_TYPES } from '../app/rule-files.ts'
import { loadDatabaseUrl, loadRetryLimits } from '../config/config.ts'
import { NOT_TOLD_CSV } from '../core/log/log-csv.ts'
import type { LogPosition } from '../core/log/log-page.ts'
import type { ExplainedNotTold } from '../core/log/not-told.ts'
import { describeGivenUp } from '../core/log/status.ts'
import { counted } from '../core/text/count.ts'
import { printable } from '../core/text/sanitize.ts'
import { createRuleCache } from '../core/why/archived-rules.ts'
import { explainNotTold, revisionsOf } from '../core/why/explain.ts'
import { withDatabase } from '../postgres/connection/with-database.ts'
import { countFailedEntries } from '../postgres/read/count-failed-entries.ts'
import { listNotTold } from '../postgres/read/list-not-told.ts'
import { readArchivedRuleTable } from '../postgres/read/read-archive.ts'
import { checkRule, noteUnknownEventType } from './terminal/known-names.ts'
import { notBlank, type Since, sinceOption, timeOf } from './terminal/options.ts'
import { print } from './terminal/print.ts'
import { createProgress } from './terminal/progress.ts'

const PAGE_COUNT_MAX = 1_000

export const notToldCommand = new Command('not-told')
  .description('list the members who were not told, newest first: skipped, or failed past the last retry')
  .addOption(sinceOption('how far to go back', '7d'))
  .option('--event-type <type>', 'only events of this type', notBlank)
  .option('--rule <id>', 'only events that this rule decided', notBlank)
  .option(
    '--reason <reason>',
    'only entries with this failure reason, or with one that begins with it and a colon',
    notBlank,
  )
  .addOption(new Option('--csv', 'as CSV, with a header').conflicts('json'))
  .option('--json', 'one JSON object per line')
  .addHelpText(
    'after',
    `
DATABASE_URL names the database. RETRY_MAX_AGE and RETRY_MAX_ATTEMPTS define the last retry of a failed row: set them as
for \`serve\`. Exit codes: 0 listed, 1 failed, 2 wrong usage.

Example:
  $ notifications-service not-told --since 30d --event-type claim.rejected --csv > not-told.csv`,
  )
  .action(notTold)

interface Options {
  readonly since: Since
  readonly eventType?: string
  readonly rule?: string
  readonly reason?: string
  readonly csv?: true
  readonly json?: true
}

async function notTold({ since, eventType, rule, reason, csv, json }: Options): Promise<void> {
  const { maxAgeMs, attemptCountMax } = loadRetryLimits(process.env)
  await withDatabase(loadDatabaseUrl(process.env), async (pool) => {
    const progress = createProgress(process.stderr)
    const rulesOf = createRuleCache((revision) => readArchivedRuleTable(pool, revision), TEMPLATE_EVENT_TYPES)
    if (rule !== undefined) await checkRule(pool, rule)
    const start = await timeOf(pool, since)
    const shown = csv ? NOT_TOLD_CSV.lineOf : json ? JSON.stringify : lineOf
    if (csv) process.stdout.write(NOT_TOLD_CSV.head)
    let count = 0
    for (let after: LogPosition | null | undefined; after !== null; ) {
      const { items, next } = await listNotTold(
        pool,
        { maxAgeMs, attemptCountMax },
        { since: start, eventType, rule, reason },
        { limit: PAGE_COUNT_MAX, after: after ?? null },
      )
      const rules = await rulesOf(revisionsOf(items))
      progress.clear()
      for (const item of explainNotTold(items, rules)) await print(`${shown(item)}${csv ? '' : '\n'}`)
      count += items.length
      progress.show(`${count} entries`)
      after = next
    }
    progress.clear()
    if (count === 0 && eventType !== undefined) noteUnknownEventType(eventType)
    if (csv || json) return
    const { waiting } = await countFailedEntries(pool, { maxAgeMs, attemptCountMax })
    const others =
      waiting === 0
        ? ''
        : `; besides, ${counted(waiting, 'entry has', 'entries have')} FAILED and will be retried`
    process.stderr.write(`${counted(count, 'entry', 'entries')} since ${start}${others}\n`)
  })
}

/** The rule's sentence is left out for a FAILED row: it announces a retry, and there will be none. */
function lineOf(item: ExplainedNotTold): string {
  const { createdAt, locator, eventType, status, failureReason, ruleId, because } = item
  const rule =
    ruleId === null
      ? ''
      : `, by rule "${ruleId}"${because === null || status === 'FAILED' ? '' : `: ${because}`}`
  const isGivenUp = status === 'FAILED' ? `, ${describeGivenUp(item)}` : ''
  return printable(
    `${createdAt}  ${locator}  ${status}${isGivenUp} (${failureReason}): ${eventType} for ${item.partyLocator ?? 'nobody'}${rule}`,
  )
}
