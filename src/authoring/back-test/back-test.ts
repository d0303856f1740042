import { RULE_TABLE, readText, TEMPLATE_EVENT_TYPES } from '../../service/app/rule-files.ts'
import { readArchived } from '../../service/store/read/read-archive.ts'
import { resolveTime } from '../../service/store/read/resolve-time.ts'
import { counted } from '../../service/text/count.ts'
import type { Since } from '../../service/time/duration.ts'
import { fileOption, newCommand, sinceOption } from '../../terminal/options.ts'
import { print, showProgress } from '../../terminal/print.ts'
import { withDatabase } from '../../terminal/with-database.ts'
import type { World } from '../../terminal/world.ts'
import { compileRuleTable } from '../check/compile-table.ts'
import { type BacktestSource, describeBacktest, LOCATOR_COUNT_MAX, runBacktest } from './decide-groups.ts'
import { groupDecisions } from './group-decisions.ts'

export const backtestCommand = (world: World) =>
  newCommand('backtest', {
    notes: `An event counts once, by its last decision: each attempt is decided again from the facts recorded for it.
DATABASE_URL names the database.`,
    exitCodes: '0 compared, 1 the table has faults or the command failed',
    example: 'rules backtest --table candidate.csv --since 7d',
  })
    .description('decide past events again by a candidate rule table; send and write nothing')
    .addOption(fileOption('--table <file>', 'the candidate table', RULE_TABLE))
    .addOption(sinceOption('how far to go back', '30d'))
    .option('--json', 'as one JSON value')
    .action((options: Options) => backtest(world, options))

interface Options {
  readonly table: string
  readonly since: Since
  readonly json?: true
}

async function backtest(world: World, { table, since, json }: Options): Promise<void> {
  const candidate = await compileRuleTable(await readText(table), table)
  await withDatabase(world, async (pool) => {
    const start = await resolveTime(pool, since)
    const source: BacktestSource = {
      readPage: (cursor) =>
        groupDecisions(pool, { from: start, to: null, cursor }, { locatorCountMax: LOCATOR_COUNT_MAX }),
      readRuleTable: (revision) => readArchived(pool, 'ruleset', revision),
    }
    const backtested = await runBacktest(candidate, source, TEMPLATE_EVENT_TYPES, (count) =>
      showProgress(world, `${count} events decided again`),
    )
    const result = { since: start, ...backtested }
    if (json) await print(world, JSON.stringify(result))
    else await print(world, describePeriod(since, start), ...describeBacktest(result))
  })
}

/** Example: "In the last 30 days, since 2026-…". */
function describePeriod(since: Since, start: string): string {
  const days = typeof since === 'number' ? since / 86_400_000 : 0
  return Number.isInteger(days) && days > 0
    ? `In the last ${counted(days, 'day')}, since ${start}`
    : `Since ${start}`
}
