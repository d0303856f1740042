import { stat } from 'node:fs/promises'
import { dirname } from 'node:path'
import { Command, Option } from 'commander'
import { RULE_TABLE, readText, ruleTableOf } from '../../app/rule-files.ts'
import { type Change, diffRuleTables, kindOf, type RuleTableDiff } from '../../core/rules/diff.ts'
import { diffToMarkdown } from '../../core/rules/diff-markdown.ts'
import { describeDiff } from '../../core/rules/diff-text.ts'
import { checkRevision, readFileAt } from '../terminal/git.ts'
import { fileOption } from '../terminal/options.ts'

/** Changes that `rules diff --fail-on` can forbid. */
const DIRECTIONS = {
  'new-send': (change: Change) => kindOf(change) === 'newly sent',
  'lost-send': (change: Change) => kindOf(change) === 'no longer sent',
} as const

export const diffCommand = new Command('diff')
  .description('describe in sentences which decisions differ from those of an earlier rule table')
  .requiredOption(
    '--against <git revision or file>',
    'the earlier rule table; an existing file takes precedence',
  )
  .addOption(fileOption('--table <file>', 'the current rule table', RULE_TABLE))
  .addOption(
    new Option(
      '--fail-on <direction>',
      'exit with 1 if any situation becomes a SEND, or stops being one',
    ).choices(Object.keys(DIRECTIONS)),
  )
  .addOption(new Option('--markdown', 'as Markdown, for a pull request').conflicts('json'))
  .option('--json', 'as one JSON value')
  .addHelpText(
    'after',
    `
Exit codes: 0 compared, 1 a table has faults or is not readable, or --fail-on found a change, 2 wrong usage.

Examples:
  $ notifications-service rules diff --against main
  $ notifications-service rules diff --against old.csv --fail-on new-send --markdown`,
  )
  .action(diff)

interface Options {
  readonly against: string
  readonly table: string
  readonly failOn?: keyof typeof DIRECTIONS
  readonly markdown?: true
  readonly json?: true
}

async function diff({ against, table, failOn, markdown, json }: Options): Promise<void> {
  const before = await ruleTableOf(await readBefore(against, table), `the rule table of ${against}`)
  const after = await ruleTableOf(await readText(table))
  const difference = diffRuleTables(before, after)
  if (json) process.stdout.write(`${JSON.stringify(asValue(difference))}\n`)
  else
    process.stdout.write(markdown ? diffToMarkdown(difference) : `${describeDiff(difference).join('\n')}\n`)
  if (failOn === undefined) return
  const failing = difference.changes.filter(DIRECTIONS[failOn])
  if (failing.length > 0) {
    diffCommand.error(`--fail-on ${failOn} forbids ${failing.length} of the changes`)
  }
}

/** For programs: event types in words, rule ids, and the sentences for people. */
function asValue(difference: RuleTableDiff) {
  const change = ({ situation, eventClasses, before, after }: Change) => ({
    situation,
    eventTypes: eventClasses.flatMap(({ members }) => members),
    before,
    after,
  })
  return {
    changes: difference.changes.map(change),
    moved: difference.moved.map(change),
    reworded: difference.reworded.map(({ before, after }) => ({
      ruleId: after.id,
      before: before.because,
      after: after.because,
    })),
    sentences: describeDiff(difference),
  }
}

async function readBefore(against: string, table: string): Promise<string> {
  const isFile = await stat(against).then(
    (found) => found.isFile(),
    () => false,
  )
  if (isFile) return readText(against)
  await checkRevision(against, dirname(table), 'file')
  return readFileAt(against, table)
}
