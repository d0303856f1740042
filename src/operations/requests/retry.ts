import { InvalidArgumentError } from 'commander'
import { isLogLocator } from '../../service/model/log/log-locator.ts'
import type { Since } from '../../service/time/duration.ts'
import { withWriteOptions } from '../../terminal/confirm.ts'
import { readLogFilter, withLogFilter } from '../../terminal/log-filter.ts'
import { newCommand, sinceOption, UsageError, untilOption } from '../../terminal/options.ts'
import { note } from '../../terminal/print.ts'
import { withDatabase } from '../../terminal/with-database.ts'
import type { World } from '../../terminal/world.ts'
import { checkRule, noteUnknownEventType } from '../log/known-names.ts'
import { ASK_EXIT_CODES, ASK_HELP, type AskOptions, ask, checkAsked } from './follow.ts'

export const retryCommand = (world: World) =>
  withLogFilter(
    withWriteOptions(
      newCommand('retry', {
        notes: `An entry that was sent or erased is never retried, and one that would be skipped again stays unchanged. One that fails again is
retried by the service while it is younger than RETRY_MAX_AGE and has attempts left.
${ASK_HELP}`,
        exitCodes: ASK_EXIT_CODES,
        example: "retry --since 2d --reason 'contact could not be resolved' --because 'outage is over'",
      }),
    ),
  )
    .description(
      "retry log entries that were given up or skipped, by today's rules, contacts and preferences",
    )
    .argument('[locator...]', 'log entries, NTF-…; else all that match the filter', addLocator)
    .addOption(sinceOption('only events since then'))
    .addOption(untilOption('only events up to then'))
    .option(
      '--read-again',
      'read the messages of skipped entries again, by the envelope map in force: another type, party or reference takes effect',
    )
    .option('--because <text>', 'the reason for the retry; recorded')
    .option('--dry-run', 'ask for nothing; show the entries by their reasons')
    .option('--json', 'print the request as one JSON object when it has ended')
    .action((locators: readonly string[] = [], options: Options) => retry(world, locators, options))

const RETRIED =
  'Failed entries that wait for a retry are not among them: the service tries them again by itself'

interface Options extends AskOptions {
  readonly since?: Since
  readonly until?: Since
  readonly readAgain?: true
}

async function retry(world: World, locators: readonly string[], options: Options): Promise<void> {
  const { since, until, readAgain } = options
  const filter = { ...readLogFilter(options), from: since, to: until }
  const { rule, eventType } = filter
  const isByFilter = Object.values(filter).some((value) => value !== undefined)
  if (locators.length > 0 && isByFilter) throw new UsageError('give locators or a filter, not both')
  if (locators.length === 0 && since === undefined)
    throw new UsageError('give locators, or --since: how far to go back')
  checkAsked(options, locators)
  await withDatabase(world, async (pool) => {
    if (rule !== undefined) await checkRule(pool, rule)
    if (eventType !== undefined) noteUnknownEventType(world, eventType)
    if (isByFilter) note(world, RETRIED)
    const chosen = locators.length > 0 ? { locators } : { filter }
    await ask(world, pool, { kind: 'retry', ...chosen, readAgain }, options)
  })
}

function addLocator(text: string, previous: readonly string[] = []): string[] {
  if (!isLogLocator(text)) throw new InvalidArgumentError('A locator is NTF- and a UUID.')
  return [...previous, text]
}
