import { Command } from 'commander'
import { loadDatabaseUrl } from '../../config/config.ts'
import type { Activation } from '../../core/rules/activation.ts'
import { SINCE_WORDS } from '../../core/time/since.ts'
import { withDatabase } from '../../postgres/connection/with-database.ts'
import { listActivations } from '../../postgres/read/list-activations.ts'
import { readArchivedRuleTable } from '../../postgres/read/read-archive.ts'
import { parseAt, type Since, timeOf } from '../terminal/since.ts'

export const historyCommand = new Command('history')
  .description('list which rule tables were in force since when, or show the one of a date')
  .option(
    '--at <when>',
    `show the table in force then (on a date: at its end, in UTC): ${SINCE_WORDS}`,
    parseAt,
  )
  .option('--json', 'as one JSON value')
  .addHelpText(
    'after',
    '\nDATABASE_URL names the database.\nExit codes: 0 shown, 1 none was in force or failed, 2 wrong usage.\n\nExample:\n  $ notifications-service rules history --at 2026-01-31',
  )
  .action(history)

interface Options {
  readonly at?: Since
  readonly json?: true
}

async function history({ at, json }: Options): Promise<void> {
  await withDatabase(loadDatabaseUrl(process.env), async (pool) => {
    const activations = await listActivations(pool)
    if (at === undefined) {
      process.stdout.write(json ? `${JSON.stringify(activations)}\n` : activations.map(line).join(''))
      return
    }
    const time = await timeOf(pool, at)
    const inForce = activations.findLast(({ activatedAt }) => activatedAt <= time)
    if (inForce === undefined) {
      process.stderr.write(`no rule table was in force at ${time}${firstOf(activations)}\n`)
      process.exitCode = 1
      return
    }
    const source = await readArchivedRuleTable(pool, inForce.revision)
    if (json) process.stdout.write(`${JSON.stringify({ ...inForce, source })}\n`)
    else {
      // The table alone goes to standard output, so that it can be kept as a file.
      process.stderr.write(`in force since ${line(inForce)}`)
      process.stdout.write(source ?? '')
    }
  })
}

function line({ activatedAt, revision, gitCommit }: Activation): string {
  return `${activatedAt}  ${revision}${gitCommit === null ? '' : `  commit ${gitCommit}`}\n`
}

function firstOf([first]: readonly Activation[]): string {
  return first === undefined ? ': none is recorded' : `: the first recorded one is from ${first.activatedAt}`
}
