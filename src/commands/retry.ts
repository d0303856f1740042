import { Command, InvalidArgumentError } from 'commander'
import { createRetrier, type Retrier } from '../app/requested-retry.ts'
import { type Config, loadConfig } from '../config/config.ts'
import { isLogLocator } from '../core/log/log-locator.ts'
import type { LogPosition } from '../core/log/log-page.ts'
import { counted } from '../core/text/count.ts'
import { printable } from '../core/text/sanitize.ts'
import type { Since } from '../core/time/duration.ts'
import type { RequestedResult, RequestNeeds } from '../pipeline/requested-retry.ts'
import type { DatabasePool } from '../postgres/connection/pool.ts'
import { withDatabase } from '../postgres/connection/with-database.ts'
import { findMembers } from '../postgres/read/find-members.ts'
import { listLogEntries } from '../postgres/read/list-log-entries.ts'
import { readRetryCandidates } from '../postgres/read/read-retry-candidates.ts'
import { resolveTime } from '../postgres/read/time-of.ts'
import { createLog } from '../telemetry/log.ts'
import { confirm, type WriteOptions, withWriteOptions } from './terminal/confirm.ts'
import { checkRule, noteUnknownEventType } from './terminal/known-names.ts'
import { notBlank, parseAt, sinceOption, UsageError } from './terminal/options.ts'
import { note, print, showProgress } from './terminal/print.ts'

export const retryCommand = withWriteOptions(new Command('retry'))
  .description("retry log entries that were given up or skipped, by today's rules, contacts and preferences")
  .argument('[locator...]', 'log entries, NTF-…; else all that match the filter', addLocator)
  .addOption(sinceOption('only events since then'))
  .option('--until <when>', 'only events up to then; by default up to now', parseAt)
  .option('--event-type <type>', 'only events of this type', notBlank)
  .option('--rule <id>', 'only entries that this rule decided last', notBlank)
  .option('--reason <text>', 'only entries whose failure reason begins with this text', notBlank)
  .option('--because <text>', 'the reason for the retry; recorded')
  .option('--dry-run', 'send and write nothing; show what would happen')
  .option('--json', 'one JSON object per line')
  .addHelpText(
    'after',
    `
Set the environment as for \`serve\`. An entry that was sent or erased is never retried. One that fails again is retried by the
service while it is younger than RETRY_MAX_AGE and has attempts left. The command can be interrupted and run again.
Exit codes: 0 every entry was looked at, and its result printed, 1 some were left out (run it again), or an entry given by its
locator was not retried, 2 wrong usage.

Example:
  $ notifications-service retry --since 2d --reason 'contact could not be resolved' --dry-run`,
  )
  .action(retry)

interface FilterOptions {
  readonly since?: Since
  readonly until?: Since
  readonly eventType?: string
  readonly rule?: string
  readonly reason?: string
}

interface Options extends FilterOptions, WriteOptions {
  readonly because?: string
}

async function retry(locators: readonly string[] = [], options: Options): Promise<void> {
  checkUsage(locators, options)
  const config = loadConfig(process.env)
  await withDatabase(config.database.url, async (pool) => {
    const retrier = await createRetrier(config, pool, createLog('warn', process.stderr))
    try {
      if (options.rule !== undefined) await checkRule(pool, options.rule)
      if (options.eventType !== undefined) noteUnknownEventType(options.eventType)
      const selection = await (locators.length > 0
        ? named(pool, config.retry, [...new Set(locators)])
        : matching(pool, config.retry, options))
      if (await isConfirmed(selection, options)) await retryAll(retrier, selection, options)
      else note('Not confirmed: nothing was retried')
    } finally {
      await retrier.close()
    }
  })
}

function checkUsage(locators: readonly string[], options: Options): void {
  const { since, until, eventType, rule, reason, because, dryRun } = options
  const byFilter = [since, until, eventType, rule, reason].some((value) => value !== undefined)
  if (locators.length > 0 && byFilter) throw new UsageError('give locators or a filter, not both')
  if (locators.length === 0 && since === undefined)
    throw new UsageError('give locators, or --since: how far to go back')
  if (!dryRun && (because === undefined || because.trim() === ''))
    throw new UsageError('give --because: the reason for the retry; recorded (or --dry-run)')
}

async function isConfirmed(selection: Selection, options: Options): Promise<boolean> {
  if (options.dryRun || options.yes) return true
  const count = await selection.count((soFar) => showProgress(`${soFar} entries`))
  return count === 0 || confirm(`Retry ${counted(count, 'log entry', 'log entries')}?`, options)
}

async function retryAll(retrier: Retrier, selection: Selection, options: Options): Promise<void> {
  const { dryRun, by, because = '', json } = options
  const counts = { SENT: 0, FAILED: 0, SKIPPED: 0, refused: 0 }
  const run = {
    listCandidates: selection.list,
    report: (locator: string, result: RequestedResult) => {
      counts[result.result]++
      void print(json ? JSON.stringify({ locator, ...result }) : `${locator}  ${describeRetry(result)}`)
    },
  }
  const stop = await (dryRun ? retrier.tryOut(run) : retrier.retry({ by, because }, run))
  const { SENT, FAILED, SKIPPED, refused } = counts
  note(
    dryRun
      ? `Dry run: ${SENT} would be SENT, ${FAILED} FAILED, ${SKIPPED} SKIPPED, ${refused} not retried`
      : `${SENT} SENT, ${FAILED} FAILED, ${SKIPPED} SKIPPED, ${refused} not retried`,
  )
  if (stop !== null) note(`not all were retried: ${printable(stop)}; run it again`)
  if (stop !== null || (selection.isNamed && counts.refused > 0)) process.exitCode = 1
}

function describeRetry(result: RequestedResult): string {
  if (result.result === 'refused') return `not retried: ${printable(result.error)}`
  const sent = result.mayRepeat ? '; it may have gone out before, under the same key' : ''
  if (result.result === 'SENT') return `SENT by ${result.channel}${sent}`
  return printable(`${result.result} (${result.reason ?? `the ${result.channel} sender failed`})${sent}`)
}

function addLocator(text: string, previous: readonly string[] = []): string[] {
  if (!isLogLocator(text)) throw new InvalidArgumentError('A locator is NTF- and a UUID.')
  return [...previous, text]
}

interface Selection {
  readonly isNamed: boolean
  readonly list: RequestNeeds['listCandidates']
  readonly count: (onProgress: (soFar: number) => void) => Promise<number>
}

const PAGE_COUNT_MAX = 500
/** Sorts after the locators of all entries with the same creation time. */
const LAST_LOCATOR = 'NTF-~'

/** Entries by their distinct locators, newest first, each read with its page. Throws UsageError if one does not exist. */
async function named(
  pool: DatabasePool,
  limits: Config['retry'],
  locators: readonly string[],
): Promise<Selection> {
  const known = await findMembers(pool, locators)
  const missing = locators.filter((locator) => !known.has(locator))
  if (missing.length > 0) throw new UsageError(`no log entry has the locator ${missing.join(', ')}`)
  const newestFirst = [...known]
    .map(([locator, { createdAt }]) => ({ locator, createdAt }))
    .sort((a, b) => (a.createdAt + a.locator < b.createdAt + b.locator ? 1 : -1))
  return {
    isNamed: true,
    // In pages, each committed by itself, so that a commit stays short.
    list: async (after) => {
      const start = newestFirst.findIndex(({ locator }) => locator === after?.locator) + 1
      const asked = newestFirst.slice(start, start + PAGE_COUNT_MAX)
      return readCandidates(pool, limits, asked, newestFirst.length > start + asked.length)
    },
    count: async () => newestFirst.length,
  }
}

/**
 * The candidates among these entries, newest first, as many as one page holds; `next` is the last entry that was looked at, null if
 * it is the last one.
 */
async function readCandidates(
  pool: DatabasePool,
  limits: Config['retry'],
  entries: readonly LogPosition[],
  isMore: boolean,
) {
  const locators = entries.map(({ locator }) => locator)
  const candidates = await readRetryCandidates(pool, limits, locators)
  const last = candidates.at(-1)
  const lastEntry = entries.at(-1)
  // An entry that was pruned meanwhile is missing at the end: it is looked for once more, with the next page.
  const isWhole = last === undefined || last.locator === lastEntry?.locator
  const end = isWhole ? lastEntry : last
  return { candidates, isWhole, next: end !== undefined && (isMore || !isWhole) ? end : null }
}

/** Entries whose members were not told and will not be, newest first. */
async function matching(
  pool: DatabasePool,
  limits: Config['retry'],
  { since = 0, until = 0, eventType, rule, reason }: FilterOptions,
): Promise<Selection> {
  const from = await resolveTime(pool, since)
  const filter = { from, eventType, rule, reasonPrefix: reason, notTold: true } as const
  const start: LogPosition = { createdAt: await resolveTime(pool, until), locator: LAST_LOCATOR }

  const listed = (after: LogPosition | null) =>
    listLogEntries(pool, limits, filter, { limit: PAGE_COUNT_MAX, after: after ?? start })

  return {
    isNamed: false,
    list: async (after) => {
      const { items, next } = await listed(after)
      const page = await readCandidates(pool, limits, items, next !== null)
      return { ...page, next: page.isWhole ? next : page.next }
    },
    count: async (onProgress) => {
      let count = 0
      for (let after: LogPosition | null | undefined; after !== null; ) {
        const { items, next } = await listed(after ?? null)
        count += items.length
        onProgress(count)
        after = next
      }
      return count
    },
  }
}
