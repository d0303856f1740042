import { Command, InvalidArgumentError } from 'commander'
import { createRetrier, RETRIER_CONNECTIONS, type Retrier } from '../app/requested-retry.ts'
import { loadConfig } from '../config/config.ts'
import { isLogLocator } from '../core/log/log-locator.ts'
import { counted } from '../core/text/count.ts'
import { printable } from '../core/text/sanitize.ts'
import type { RequestedResult } from '../pipeline/retry-on-request.ts'
import { withDatabase } from '../postgres/connection/with-database.ts'
import { createLog } from '../telemetry/log.ts'
import { type FilterOptions, matching, named, type Selection } from './retry/selection.ts'
import { accountName, confirm } from './terminal/confirm.ts'
import { checkRule, noteUnknownEventType } from './terminal/known-names.ts'
import { notBlank, parseAt, sinceOption, UsageError, type WriteOptions } from './terminal/options.ts'
import { createProgress } from './terminal/progress.ts'

export const retryCommand = new Command('retry')
  .description("retry log entries that were given up or skipped, by today's rules, contacts and preferences")
  .argument('[locator...]', 'log entries, NTF-…; else all that match the filter', addLocator)
  .addOption(sinceOption('only events since then'))
  .option('--until <when>', 'only events up to then; by default up to now', parseAt)
  .option('--event-type <type>', 'only events of this type', notBlank)
  .option('--rule <id>', 'only entries that this rule decided last', notBlank)
  .option('--reason <text>', 'only entries whose failure reason begins with this text', notBlank)
  .option('--because <text>', 'the reason for the retry; recorded')
  .option('--by <name>', 'name to record; by default that of the account')
  .option('--dry-run', 'send and write nothing; show what would happen')
  .option('--yes', 'do not ask for confirmation')
  .option('--json', 'one JSON object per line')
  .addHelpText(
    'after',
    `
Set the environment as for \`serve\`. An entry that was sent or erased is never retried. One that fails again is retried by the
service while it is younger than RETRY_MAX_AGE and has attempts left. The command can be interrupted and run again.
Exit codes: 0 all were retried, whatever the result, 1 it ended early, or an entry given by its locator was not retried, 2 wrong usage.

Example:
  $ notifications-service retry --since 2d --reason 'contact could not be resolved' --dry-run`,
  )
  .action(retry)

interface Options extends FilterOptions, WriteOptions {
  readonly because?: string
}

async function retry(locators: readonly string[] = [], options: Options): Promise<void> {
  checkUsage(locators, options)
  const config = loadConfig(process.env)
  await withDatabase(
    config.database.url,
    async (pool) => {
      const retrier = await createRetrier(config, pool, createLog('warn', process.stderr))
      try {
        if (options.rule !== undefined) await checkRule(pool, options.rule)
        if (options.eventType !== undefined) noteUnknownEventType(options.eventType)
        const selection = await (locators.length > 0
          ? named(pool, config.retry, [...new Set(locators)])
          : matching(pool, config.retry, options))
        if (!(await isConfirmed(selection, options)))
          process.stderr.write('Not confirmed: nothing was retried\n')
        else await retryAll(retrier, selection, options)
      } finally {
        await retrier.close()
      }
    },
    RETRIER_CONNECTIONS,
  )
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

async function isConfirmed(selection: Selection, { dryRun, yes }: Options): Promise<boolean> {
  if (dryRun || yes) return true
  const progress = createProgress(process.stderr)
  const count = await selection.count((soFar) => progress.show(`${soFar} entries`))
  progress.clear()
  return count === 0 || confirm(`Retry ${counted(count, 'log entry', 'log entries')}?`)
}

async function retryAll(retrier: Retrier, selection: Selection, options: Options): Promise<void> {
  const { dryRun, by = accountName(), because = '', json } = options
  const counts = { SENT: 0, FAILED: 0, SKIPPED: 0, refused: 0 }
  const run = {
    listCandidates: selection.list,
    report: (locator: string, result: RequestedResult) => {
      counts[result.result]++
      const line = json ? JSON.stringify({ locator, ...result }) : `${locator}  ${sentenceOf(result)}`
      process.stdout.write(`${line}\n`)
    },
  }
  const stop = await (dryRun ? retrier.tryOut(run) : retrier.retry({ by, because }, run))
  const { SENT, FAILED, SKIPPED, refused } = counts
  process.stderr.write(
    dryRun
      ? `Dry run: ${SENT} would be SENT, ${FAILED} FAILED, ${SKIPPED} SKIPPED, ${refused} not retried\n`
      : `${SENT} SENT, ${FAILED} FAILED, ${SKIPPED} SKIPPED, ${refused} not retried\n`,
  )
  if (stop !== null) process.stderr.write(`ended early: ${printable(stop)}; run it again\n`)
  if (stop !== null || (selection.isNamed && counts.refused > 0)) process.exitCode = 1
}

function sentenceOf(result: RequestedResult): string {
  if (result.result === 'refused') return `not retried: ${printable(result.error)}`
  const sent = result.mayRepeat ? '; it may have gone out before, under the same key' : ''
  if (result.result === 'SENT') return `SENT by ${result.channel}${sent}`
  return printable(`${result.result} (${result.reason ?? `the ${result.channel} sender failed`})${sent}`)
}

function addLocator(text: string, previous: readonly string[] = []): string[] {
  if (!isLogLocator(text)) throw new InvalidArgumentError('a locator is NTF- and a UUID.')
  return [...previous, text]
}
