import { writeFile } from 'node:fs/promises'
import { Command } from 'commander'
import { RULE_TABLE, readText, ruleTableOf, TEMPLATE_EVENT_TYPES } from '../../app/rule-files.ts'
import { loadDatabaseUrl } from '../../config/config.ts'
import { cellsOf } from '../../core/rules/event-type-cell.ts'
import { createTrafficCount, trafficToCsv } from '../../core/rules/traffic.ts'
import { withDatabase } from '../../postgres/connection/with-database.ts'
import { decisionGroups } from '../../postgres/read/group-decisions.ts'
import { createProgress } from '../terminal/progress.ts'
import { type Since, sinceOption, timeOf } from '../terminal/since.ts'

const PAGE_COUNT_MAX = 50_000

export const countsCommand = new Command('counts')
  .description('count recorded events by type and situation, without any person, for rules diff --counts')
  .addOption(sinceOption('how far to go back', '30d'))
  .option('--first', 'count an event by its first decision, before any retry')
  .option('--output <file>', 'write a file, such as rules/counts.csv, instead of standard output')
  .option('--json', 'as one JSON value instead of CSV')
  .addHelpText(
    'after',
    `
DATABASE_URL names the database. Exit codes: 0 counted, 1 failed, 2 wrong usage.

Example:
  $ notifications-service rules counts --since 30d --output rules/counts.csv`,
  )
  .action(counts)

interface Options {
  readonly since: Since
  readonly first?: true
  readonly output?: string
  readonly json?: true
}

async function counts({ since, first, output, json }: Options): Promise<void> {
  await withDatabase(loadDatabaseUrl(process.env), async (pool) => {
    const progress = createProgress(process.stderr)
    const start = await timeOf(pool, since)
    const { rules } = await ruleTableOf(await readText(RULE_TABLE))
    const named = cellsOf(rules).flatMap(({ names }) => names)
    const count = createTrafficCount([...TEMPLATE_EVENT_TYPES, ...named])
    const counting = first ? 'first' : 'last'
    let seen = 0
    for await (const { events, groups } of decisionGroups(pool, start, PAGE_COUNT_MAX, counting)) {
      for (const group of groups) count.add(group)
      seen += events
      progress.show(`${seen} events counted`)
    }
    progress.clear()
    const lines = count.lines()
    const text = json ? `${JSON.stringify({ since: start, lines })}\n` : trafficToCsv(lines)
    if (output === undefined) process.stdout.write(text)
    else await writeFile(output, text)
  })
}
