import { type Command, Option } from 'commander'
import { explainPage } from '../../service/app/load-archived-rules.ts'
import { loadRetryLimits } from '../../service/config/config.ts'
import { shownSubject } from '../../service/decide/party/channel.ts'
import type { ListedLogEntry, ListedRow } from '../../service/model/log/log-entry.ts'
import type { LogPosition } from '../../service/model/log/log-page.ts'
import { describeStatus } from '../../service/model/log/status.ts'
import { listLogEntries } from '../../service/store/read/list-log-entries.ts'
import { resolveTime } from '../../service/store/read/resolve-time.ts'
import { counted } from '../../service/text/count.ts'
import { printable } from '../../service/text/sanitize.ts'
import type { Since } from '../../service/time/duration.ts'
import { readLogFilter, withLogFilter } from '../../terminal/log-filter.ts'
import { newCommand, parseLimit, sinceOption, untilOption } from '../../terminal/options.ts'
import { note, print, showProgress } from '../../terminal/print.ts'
import { withDatabase } from '../../terminal/with-database.ts'
import type { World } from '../../terminal/world.ts'
import { checkRule, findNamed, noteUnknownEventType } from './known-names.ts'
import { LOG_CSV } from './log-csv.ts'
import { filterFor } from './search-kinds.ts'

const PAGE_COUNT_MAX = 1_000

export const logCommand = (world: World) =>
  withLogFilter(
    newCommand('log', {
      notes: `DATABASE_URL names the database. RETRY_MAX_AGE and RETRY_MAX_ATTEMPTS define the last retry of a failed row: set them as
for \`serve\`. `,
      exitCodes: '0 listed, 1 failed',
      example: [
        'log party-0036',
        'log --not-told --since 30d --event-type claim.rejected --csv > not-told.csv',
      ],
    }),
  )
    .description('list log entries, newest first')
    .argument(
      '[name]',
      'a member, claim, policy, invoice, event type or reason: only its entries, however old',
    )
    .addOption(sinceOption('how far to go back', '7d'))
    .addOption(untilOption('only entries created earlier'))
    .option(
      '--not-told',
      'only members who were not told and will not be: SKIPPED, or FAILED past the last retry',
    )
    .option('--limit <count>', 'at most this many entries', parseLimit)
    .addOption(new Option('--csv', 'as CSV, with a header').conflicts('json'))
    .option('--json', 'one JSON object per line')
    .action((name: string | undefined, options: Options, command: Command) =>
      listLog(world, name, options, command),
    )

interface Options {
  readonly since: Since
  readonly until?: Since
  readonly notTold?: true
  readonly limit?: number
  readonly csv?: true
  readonly json?: true
}

async function listLog(
  world: World,
  name: string | undefined,
  options: Options,
  command: Command,
): Promise<void> {
  const { since, until, notTold, limit = Number.POSITIVE_INFINITY, csv, json } = options
  const filter = readLogFilter(options)
  const { rule, eventType, partyLocator, reference, reasonPrefix } = filter
  const limits = loadRetryLimits(world.env)
  await withDatabase(world, async (pool) => {
    if (rule !== undefined) await checkRule(pool, rule)
    const named = name === undefined ? null : await findNamed(world, pool, name)
    if (name !== undefined && named === null) return
    // A named subject is listed from its first entry on.
    const isWhole = named !== null && command.getOptionValueSource('since') === 'default'
    const from = isWhole ? undefined : await resolveTime(pool, since)
    const to = until === undefined ? undefined : await resolveTime(pool, until)
    const shown = csv ? formatCsvLine : json ? JSON.stringify : formatEntry
    if (csv) await print(world, LOG_CSV.head.slice(0, -1))
    let count = 0
    let after: LogPosition | null | undefined
    while (after !== null && count < limit) {
      const page = { limit: Math.min(PAGE_COUNT_MAX, limit - count), after: after ?? null }
      const found = await listLogEntries(
        pool,
        limits,
        { ...filter, notTold, from, to, ...(named && filterFor(named)) },
        page,
      )
      const { items, next } = await explainPage(pool, found)
      for (const item of items) await print(world, shown(item))
      count += items.length
      showProgress(world, `${count} entries`)
      after = next
    }
    if (count === 0 && eventType !== undefined) noteUnknownEventType(world, eventType)
    if (count === 0 && (partyLocator ?? reference ?? reasonPrefix) !== undefined)
      note(world, '`log <name>` finds similar names')
    const period = from === undefined ? '' : ` since ${from}`
    const more = after === null ? '' : ', the newest: there are more'
    if (!csv && !json) note(world, `${counted(count, 'entry', 'entries')}${period}${more}`)
  })
}

/** Without the line feed, which `print` adds. */
function formatCsvLine(entry: ListedLogEntry): string {
  const subject = shownSubject(entry.channel, entry.subject)
  return LOG_CSV.formatLine({ ...entry, status: describeStatus(entry), subject }).slice(0, -1)
}

export function formatEntry(entry: ListedRow): string {
  const {
    createdAt,
    locator,
    eventType,
    partyLocator,
    reference,
    status,
    givenUp,
    failureReason,
    recordedOnly,
  } = entry
  const about = reference === null || reference === partyLocator ? '' : ` about ${reference}`
  const more = givenUp ? ', given up' : recordedOnly ? ', recorded only' : ''
  const reason = failureReason === null ? '' : ` (${failureReason})`
  return printable(
    `${createdAt}  ${locator}  ${status}${more}${reason}: ${eventType}${about} for ${partyLocator ?? 'nobody'}`,
  )
}
