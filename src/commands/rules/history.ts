import { Command, InvalidArgumentError } from 'commander'
import { loadDatabaseUrl } from '../../config.ts'
import { type Activation, listActivations } from '../../postgres/activations.ts'
import { readArchivedRuleTable } from '../../postgres/archive.ts'
import { withDatabase } from '../../postgres/with-database.ts'

export const historyCommand = new Command('history')
  .description('say which rule tables were in force and since when, or show the one of a date')
  .option(
    '--at <date>',
    'show the table that was in force then (ISO 8601; without a time: at its end, in UTC)',
    parseInstant,
  )
  .option('--json', 'as one JSON value')
  .addHelpText(
    'after',
    '\nDATABASE_URL says which database.\n\nExample:\n  $ notifications-service rules history --at 2026-01-31',
  )
  .action(history)

interface Options {
  /** In UTC with microseconds, like the times that it is compared with. */
  readonly at?: string
  readonly json?: true
}

async function history({ at, json }: Options): Promise<void> {
  await withDatabase(loadDatabaseUrl(process.env), async (pool) => {
    const activations = await listActivations(pool)
    if (at === undefined) {
      process.stdout.write(json ? `${JSON.stringify(activations)}\n` : activations.map(line).join(''))
      return
    }
    const inForce = activations.findLast(({ activatedAt }) => activatedAt <= at)
    if (inForce === undefined) {
      process.stderr.write(`no rule table was in force at ${at}${firstOf(activations)}\n`)
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
  return first === undefined ? ': none is on record' : `: the first on record is of ${first.activatedAt}`
}

function parseInstant(text: string): string {
  const date = /^\d{4}-\d{2}-\d{2}$/.test(text) ? `${text}T23:59:59.999999Z` : text
  const [, day, seconds, decimals = '', zone] =
    /^(\d{4}-\d{2}-\d{2})T(\d{2}:\d{2}:\d{2})(?:\.(\d{1,6}))?(Z|[+-]\d{2}:\d{2})$/.exec(date) ?? []
  const instant = new Date(`${day}T${seconds}${zone}`)
  if (Number.isNaN(instant.getTime()) || !isDay(day as string)) {
    throw new InvalidArgumentError('Write a date such as 2026-01-31, or a time such as 2026-01-31T12:00:00Z.')
  }
  return `${instant.toISOString().slice(0, 19)}.${decimals.padEnd(6, '0')}Z`
}

/** Date takes the 30th of February for the 2nd of March. `day` is at most that far from one. */
function isDay(day: string): boolean {
  return new Date(`${day}T00:00:00Z`).toISOString().startsWith(day)
}
