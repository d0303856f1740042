import { InvalidArgumentError } from 'commander'
import { loadRetryLimits } from '../../service/config/config.ts'
import type { DatabasePool } from '../../service/store/connection/pool.ts'
import { resolveTime } from '../../service/store/read/resolve-time.ts'
import { counted } from '../../service/text/count.ts'
import type { Since } from '../../service/time/duration.ts'
import { SINCE_WORDS } from '../../service/time/duration.ts'
import { confirm, type WriteOptions, withWriteOptions, wouldDo } from '../../terminal/confirm.ts'
import { newCommand, parseSince, UsageError } from '../../terminal/options.ts'
import { print, showProgress } from '../../terminal/print.ts'
import { withDatabase } from '../../terminal/with-database.ts'
import type { World } from '../../terminal/world.ts'
import { beginPruning, finishPruning, type PruneCounts, type PruneLimits, prune } from './prune-rows.ts'

const DAY_MS = 86_400_000

const TOO_YOUNG = '--older-than must be at least a day ago: write 1d or more'

export const pruneCommand = (world: World) =>
  withWriteOptions(
    newCommand('prune', {
      notes: `A pruned event that is published again counts as new: its member is told twice.
Events not read yet are processed afterwards, however old they are.
Failed rows still due for a retry stay (set RETRY_MAX_AGE and RETRY_MAX_ATTEMPTS as for \`serve\`), and so do
preferences with their history, the archive of rules and templates, and the records of erasures, prunings and
changed checkpoints, these without their old reasons.
Works in small transactions beside \`serve\`, and can be interrupted and run again. DATABASE_URL names the database.`,
      exitCodes: '0 done, 1 declined or failed',
      example: 'prune --older-than 400d --dry-run',
    }),
  )
    .description(
      'delete log entries with their decisions, rejected messages, and ended requests that are older than an age',
    )
    .requiredOption('--older-than <when>', `at least a day ago: ${SINCE_WORDS}`, parseOlderThan)
    .option('--dry-run', 'delete nothing; count what would be deleted')
    .option('--json', 'print the result as one JSON object')
    .action((options: Options) => run(world, options))

/** A duration is checked at once, a date only against the database's clock. */
function parseOlderThan(text: string): Since {
  const since = parseSince(text)
  if (typeof since === 'number' && since < DAY_MS) throw new InvalidArgumentError(TOO_YOUNG)
  return since
}

interface Options extends WriteOptions {
  readonly olderThan: Since
}

async function run(world: World, { olderThan, dryRun, yes, by, json }: Options): Promise<void> {
  const { maxAgeMs, attemptCountMax } = loadRetryLimits(world.env)
  await withDatabase(world, async (pool) => {
    const before = await resolveTime(pool, olderThan)
    if (before > (await resolveTime(pool, DAY_MS))) throw new UsageError(TOO_YOUNG)
    const limits = { before, maxAgeMs, attemptCountMax }
    const found = await countPruned(world, pool, limits, null)
    // Even if nothing is found: the last steps, which count nothing, may be left of an interrupted pruning.
    const isDone = !dryRun && (await confirm(world, askToPrune(before, found), { yes }))
    const counts = isDone ? await pruneAll(world, pool, limits, by) : found
    const did = isDone ? 'Deleted' : wouldDo(dryRun, 'delete')
    await print(
      world,
      json
        ? JSON.stringify({ before, pruned: isDone, ...counts })
        : `${did} ${describePruned(before, counts)}`,
    )
  })
}

async function pruneAll(
  world: World,
  pool: DatabasePool,
  limits: PruneLimits,
  by: string,
): Promise<PruneCounts> {
  const pruning = await beginPruning(pool, limits.before, by)
  const counts = await countPruned(world, pool, limits, pruning)
  await finishPruning(pool, pruning)
  return counts
}

/** Deletes rows older than the limit in small transactions. Without a pruning it only counts them. */
async function countPruned(
  world: World,
  pool: DatabasePool,
  limits: PruneLimits,
  pruning: bigint | null,
): Promise<PruneCounts> {
  const sum = { logEntries: 0, decisions: 0, rejectedMessages: 0, requests: 0 }
  for await (const { logEntries, decisions, rejectedMessages, requests } of prune(pool, limits, pruning)) {
    sum.logEntries += logEntries
    sum.decisions += decisions
    sum.rejectedMessages += rejectedMessages
    sum.requests += requests
    showProgress(
      world,
      `${sum.logEntries} log entries, ${sum.decisions} decisions, ${sum.rejectedMessages} rejected messages`,
    )
  }
  return sum
}

function askToPrune(before: string, found: PruneCounts): string {
  return (
    `Permanently delete ${describePruned(before, found)}? Their events are skipped if they are read again, ` +
    'but sent again if they are published again.'
  )
}

function describePruned(before: string, pruned: PruneCounts): string {
  const { logEntries, decisions, rejectedMessages, requests } = pruned
  const entries = counted(logEntries, 'log entry', 'log entries')
  const messages = counted(rejectedMessages, 'rejected message')
  return `${entries} with ${counted(decisions, 'decision')}, ${messages}, ${counted(requests, 'ended request')}, all older than ${before}`
}
