import { Command } from 'commander'
import { loadDatabaseUrl, loadRetryLimits } from '../config/config.ts'
import type { DatabasePool } from '../postgres/connection/pool.ts'
import { withDatabase } from '../postgres/connection/with-database.ts'
import { timeAgo } from '../postgres/read/time-ago.ts'
import {
  entriesToPrune,
  type PruneCounts,
  type PruneLimits,
  pruneEntries,
} from '../postgres/retention/prune-entries.ts'
import { orphansToPrune, pruneOrphans } from '../postgres/retention/prune-orphaned-decisions.ts'
import { pruneRejected, rejectedToPrune } from '../postgres/retention/prune-rejected-messages.ts'
import { beginPruning, finishPruning } from '../postgres/retention/pruning-record.ts'
import { accountName } from './terminal/account-name.ts'
import { confirm } from './terminal/confirm.ts'
import { createProgress, type Progress } from './terminal/progress.ts'
import { parseSince, type Since, timeOf } from './terminal/since.ts'
import { UsageError } from './terminal/usage-error.ts'

const DAY_MS = 86_400_000

export const pruneCommand = new Command('prune')
  .description('delete what is older than an age: log entries with their decisions, rejected messages')
  .requiredOption(
    '--older-than <age>',
    'a duration such as 400d, a date, or a time: a day ago at least',
    parseSince,
  )
  .option('--dry-run', 'delete nothing, only count what would be deleted')
  .option('--yes', 'do not ask first')
  .option('--by <name>', 'who is recorded to have done it; unset, the name of the account')
  .option('--json', 'what was deleted as one JSON object')
  .addHelpText(
    'after',
    `
Events from before that time count as new if they are published or replayed again: their members would be told twice.
Failed rows that are still to be retried (RETRY_MAX_AGE, RETRY_MAX_ATTEMPTS: set as for \`serve\`) stay, and so do
preferences with their history, the archive of rules and templates, and the records of redrives, erasures and prunings.
Works in small transactions, beside \`serve\`; interrupted, it can be run again. DATABASE_URL says which database.
Exit codes: 0 all of it is gone, 1 it could not be done, 2 wrong usage.

Example:
  $ notifications-service prune --older-than 400d --dry-run`,
  )
  .action(prune)

interface Options {
  readonly olderThan: Since
  readonly dryRun?: true
  readonly yes?: true
  readonly by?: string
  readonly json?: true
}

async function prune({ olderThan, dryRun, yes, by, json }: Options): Promise<void> {
  const { maxAgeMs, attemptCountMax } = loadRetryLimits(process.env)
  await withDatabase(loadDatabaseUrl(process.env), async (pool) => {
    const progress = createProgress(process.stderr)
    const before = await timeOf(pool, olderThan)
    if (before > (await timeAgo(pool, DAY_MS)))
      throw new UsageError('--older-than must be a day ago at least: write 1d or more')
    const limits = { before, maxAgeMs, attemptCountMax }
    const found = await run(pool, limits, null, progress)
    progress.clear()
    const isNothing = Object.values(found).every((count) => count === 0)
    const isDone = !dryRun && !isNothing && (yes || (await confirm(questionOf(before, found))))
    const counts = isDone ? await pruneAll(pool, limits, by ?? accountName(), progress) : found
    process.stdout.write(
      json
        ? `${JSON.stringify({ before, pruned: isDone, ...counts })}\n`
        : `${isDone ? 'deleted' : isNothing ? 'nothing to delete' : 'not done, would be deleted'}: ${wordsOf(before, counts)}\n`,
    )
  })
}

async function pruneAll(
  pool: DatabasePool,
  limits: PruneLimits,
  by: string,
  progress: Progress,
): Promise<PruneCounts> {
  const pruning = await beginPruning(pool, limits.before, by)
  const counts = await run(pool, limits, pruning, progress)
  await finishPruning(pool, pruning)
  progress.clear()
  return counts
}

/** Goes through all that is old enough. Deletes it, in small transactions; without a pruning it only counts. */
async function run(
  pool: DatabasePool,
  limits: PruneLimits,
  pruning: bigint | null,
  progress: Progress,
): Promise<PruneCounts> {
  const sum = { logEntries: 0, decisions: 0, rejectedMessages: 0 }
  const show = () =>
    progress.show(
      `${sum.logEntries} log entries, ${sum.decisions} decisions, ${sum.rejectedMessages} rejected messages`,
    )
  for await (const { locators, decisions } of entriesToPrune(pool, limits)) {
    const counts =
      pruning === null
        ? { logEntries: locators.length, decisions }
        : await pruneEntries(pool, pruning, limits, locators)
    sum.logEntries += counts.logEntries
    sum.decisions += counts.decisions
    show()
  }
  for await (const { locators, decisions } of orphansToPrune(pool, limits)) {
    sum.decisions += pruning === null ? decisions : await pruneOrphans(pool, pruning, locators)
    show()
  }
  for await (const ids of rejectedToPrune(pool, limits)) {
    sum.rejectedMessages += pruning === null ? ids.length : await pruneRejected(pool, pruning, ids)
    show()
  }
  return sum
}

function questionOf(before: string, found: PruneCounts): string {
  return (
    `Delete for good: ${wordsOf(before, found)}. Events from before that time, if they come again, will count as new, ` +
    'and their members be told again. Delete?'
  )
}

function wordsOf(before: string, { logEntries, decisions, rejectedMessages }: PruneCounts): string {
  return `${logEntries} log entries with ${decisions} decisions, ${rejectedMessages} rejected messages, all from before ${before}`
}
